import type { AnchoredFiles } from '@hermes-fleet/workspace';

/** The text of a small regular file; undefined for whatever is none, or cannot be read. */
export async function readSmallFile(
  files: AnchoredFiles,
  path: string,
  maxBytes: number,
): Promise<string | undefined> {
  try {
    await using file = await files.openFile(path, 'read');
    const { size } = await file.stat();
    if (size > maxBytes) return undefined;
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    const text = bytes.subarray(0, bytesRead);
    return text.includes(0) ? undefined : text.toString('utf8');
  } catch {
    return undefined;
  }
}
