/** A value of a GGUF file: an integer is a u32, and a list of integers is one of i32. */
export type GgufValue = string | number | { readonly f32: number } | readonly string[] | readonly number[];

/** Numbers of one weight, row after row. `rows` is left out for a vector. */
export interface Tensor {
  readonly columns: number;
  readonly rows?: number;
  readonly values: Float32Array;
}

const [U32, I32, F32, STRING, ARRAY] = [4, 5, 6, 8, 9] as const;
const ALIGNMENT = 32;

/** The bytes of a GGUF file, version 3, whose tensors are f32: the specification is in https://github.com/ggml-org/ggml */
export function writeGguf(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: Readonly<Record<string, Tensor>>,
): Buffer {
  const [pairs, weights] = [Object.entries(metadata), Object.entries(tensors)];
  const head = [Buffer.from('GGUF'), u32(3), u64(weights.length), u64(pairs.length)];
  for (const [key, value] of pairs) head.push(text(key), typed(value));
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, { columns, rows, values }] of weights) {
    const dimensions = rows === undefined ? [columns] : [columns, rows];
    head.push(text(name), u32(dimensions.length), ...dimensions.map(u64), u32(0), u64(offset));
    const bytes = padded(Buffer.from(values.buffer, values.byteOffset, values.byteLength));
    data.push(bytes);
    offset += bytes.length;
  }
  return Buffer.concat([padded(Buffer.concat(head)), ...data]);
}

function typed(value: GgufValue): Buffer {
  if (typeof value === 'string') return Buffer.concat([u32(STRING), text(value)]);
  if (typeof value === 'number') return Buffer.concat([u32(U32), u32(value)]);
  if ('f32' in value) return Buffer.concat([u32(F32), Buffer.from(Float32Array.of(value.f32).buffer)]);
  const type = typeof value[0] === 'number' ? I32 : STRING;
  const items = value.map((item) => (typeof item === 'number' ? u32(item) : text(item)));
  return Buffer.concat([u32(ARRAY), u32(type), u64(value.length), ...items]);
}

const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number): Buffer => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function padded(bytes: Buffer): Buffer {
  const left = -bytes.length & (ALIGNMENT - 1);
  return left === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(left)]);
}
