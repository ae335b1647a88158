// Checks an image by its bytes and scales it down before upload.

/** The server's limit. */
export const PICTURE_BYTES_MAX = 4_194_304;
/** Pixels of the longer side of a scaled image. */
const SIDE_MAX = 1_024;

export type Extension = "png" | "jpg" | "gif" | "webp";

/** The type by its first bytes; the file name is ignored. */
export function imageExtension(bytes: Uint8Array): Extension | null {
  const hasMark = (at: number, mark: string) => [...mark].every((sign, index) => bytes[at + index] === sign.charCodeAt(0));
  if (hasMark(0, "\x89PNG\r\n\x1a\n")) return "png";
  if (hasMark(0, "\xff\xd8\xff")) return "jpg";
  if (hasMark(0, "GIF8")) return "gif";
  if (hasMark(0, "RIFF") && hasMark(8, "WEBP")) return "webp";
  return null;
}

/** Scales down in proportion, never up. */
export function fitSize(width: number, height: number, max = SIDE_MAX): { width: number; height: number } {
  const scale = Math.min(1, max / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

export interface AvatarImage {
  image: Blob;
  extension: Extension;
}

/** Null for an unsupported file. An image over the limit is scaled down. */
export async function prepareImage(file: Blob): Promise<AvatarImage | null> {
  const extension = imageExtension(new Uint8Array(await file.slice(0, 16).arrayBuffer()));
  if (extension === null) return null;
  if (file.size <= PICTURE_BYTES_MAX) return { image: file, extension };
  const image = await createImageBitmap(file).catch(() => null);
  if (image === null) return null;
  const { width, height } = fitSize(image.width, image.height);
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
  image.close();
  return { image: await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 }), extension: "jpg" };
}
