/** The last bytes of a stream, at most `limitBytes`, with the number of all bytes so far. */
export class RecentOutput {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  get totalBytes(): number {
    return this.#total;
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    // A copy: a slice would keep the whole buffer of the stream in memory.
    this.#chunks.push(Buffer.from(chunk.subarray(-this.#limit)));
    this.#kept += Math.min(chunk.length, this.#limit);
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      const excess = this.#kept - this.#limit;
      if (excess <= 0) break;
      if (excess < first.length) {
        this.#chunks[0] = first.subarray(excess);
        this.#kept -= excess;
      } else {
        this.#chunks.shift();
        this.#kept -= first.length;
      }
    }
    // Many small chunks become one, so that their number is bounded too.
    if (this.#chunks.length > MAX_CHUNKS) this.#chunks.splice(0, this.#chunks.length, this.kept());
  }

  /** The bytes that are kept. */
  kept(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** The output since the byte with this number, as far as it is kept, and the number of bytes that are lost before it. */
  since(start: number): { readonly text: string; readonly lostBytes: number } {
    const first = this.#total - this.#kept;
    const from = Math.max(start, first);
    return {
      text: this.kept()
        .subarray(from - first)
        .toString('utf8'),
      lostBytes: from - start,
    };
  }
}

const MAX_CHUNKS = 1024;
