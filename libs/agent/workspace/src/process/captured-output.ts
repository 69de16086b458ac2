/** Bounded output of a stream: its first and last bytes, half of `limitBytes` each, and the total length. */
export class CapturedOutput {
  readonly #half: number;
  /** Grows with the output; the first `#headBytes` bytes are filled. */
  #head: Buffer = Buffer.alloc(0);
  #headBytes = 0;
  /** Ring buffer of the last bytes after the head, allocated on first use. */
  #ring: Buffer | undefined;
  #total = 0;

  constructor(limitBytes: number) {
    this.#half = Math.floor(limitBytes / 2);
  }

  get totalBytes(): number {
    return this.#total;
  }

  push(chunk: Buffer): void {
    const room = this.#half - this.#headBytes;
    if (room > 0) this.#begin(chunk.subarray(0, room));
    this.#total += chunk.length;
    const rest = chunk.subarray(Math.max(room, 0)).subarray(-this.#half);
    if (rest.length === 0) return;
    this.#ring ??= Buffer.alloc(this.#half);
    const at = (this.#total - rest.length) % this.#half;
    const copied = rest.copy(this.#ring, at);
    rest.copy(this.#ring, 0, copied);
  }

  text(): string {
    const head = this.#head.subarray(0, this.#headBytes);
    const tail = this.#tail();
    const dropped = this.#total - head.length - tail.length;
    if (dropped === 0) return Buffer.concat([head, tail]).toString('utf8');
    return `${head.toString('utf8')}\n[… ${dropped} bytes left out …]\n${tail.toString('utf8')}`;
  }

  #begin(part: Buffer): void {
    const bytes = this.#headBytes + part.length;
    if (bytes > this.#head.length) {
      const grown = Buffer.alloc(Math.min(this.#half, Math.max(bytes, 2 * this.#head.length)));
      this.#head.copy(grown);
      this.#head = grown;
    }
    part.copy(this.#head, this.#headBytes);
    this.#headBytes = bytes;
  }

  #tail(): Buffer {
    const ring = this.#ring ?? Buffer.alloc(0);
    const behind = this.#total - this.#headBytes;
    if (behind <= ring.length) return ring.subarray(0, behind);
    const at = this.#total % this.#half;
    return Buffer.concat([ring.subarray(at), ring.subarray(0, at)]);
  }
}
