"""Files as torch.save writes them, made without torch: also ones that torch would not make."""
import io
import pickle
import zipfile


class Global:
    """Pickles as a global of any module, which need not exist."""
    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments


class Storage(tuple):
    pass


class Pickler(pickle._Pickler):
    """Writes calls and globals as torch.save does, without torch."""
    def persistent_id(self, value):
        return tuple(value) if isinstance(value, Storage) else None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Global):
            self.write(b"c" + value.module.encode() + b"\n" + value.name.encode() + b"\n")
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(b"R")
        else:
            super().save(value, save_persistent_id)


def tensor(key, array, shape=None, strides=None, offset=0, storage="FloatStorage", count=None):
    shape = array.shape if shape is None else shape
    strides = tuple(s // array.itemsize for s in array.strides) if strides is None else strides
    where = Storage(("storage", Global("torch", storage), key, "cpu", array.size if count is None else count))
    return Call(Global("torch._utils", "_rebuild_tensor_v2"), where, offset, shape, strides, False, Call(Global("collections", "OrderedDict")))


def pack(root, storages):
    text = io.BytesIO()
    Pickler(text, 2).dump(root)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model/data.pkl", text.getvalue())
        archive.writestr("model/byteorder", "little")
        for key, array in storages.items():
            archive.writestr(f"model/data/{key}", array.tobytes())
        archive.writestr("model/version", "3\n")
    return file.getvalue()


def forge(arrays):
    storages = {str(i): a for i, a in enumerate(arrays.values())}
    return pack({name: tensor(str(i), a) for i, (name, a) in enumerate(arrays.items())}, storages)
