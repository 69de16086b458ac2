import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '@hermes-fleet/protocol/ports';

/** The content of an open file. Throws ToolError with `instead` for one with more than `maxBytes`. */
export async function readWhole(file: FileHandle, maxBytes: number, instead: string): Promise<Buffer> {
  const { size } = await file.stat();
  if (size > maxBytes) throw new ToolError(`the file has ${size} bytes; ${instead}`);
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  return bytes.subarray(0, bytesRead);
}
