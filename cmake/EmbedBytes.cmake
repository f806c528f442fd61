# Run as a script: writes the file INPUT as the array SYMBOL (and SYMBOLBytes, its length) to the C++ file OUTPUT.
file(READ ${INPUT} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR count "${digits} / 2")
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "extern const unsigned char ${SYMBOL}[];\nextern const unsigned long ${SYMBOL}Bytes;\n"
                     "const unsigned char ${SYMBOL}[] = {${bytes}};\nconst unsigned long ${SYMBOL}Bytes = ${count};\n")
