import { deserializeMessage, type JSONRPCMessage } from '@modelcontextprotocol/client';

const MAX_BYTES = 10 * 1024 * 1024;

/** The lines of another program as messages. The buffer of the SDK drops lines that are not JSON without a word. */
export class MessageBuffer {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws above 10 MB without a message in between. */
  append(chunk: Buffer): void {
    if (this.#rest.length + chunk.length > MAX_BYTES)
      throw new Error(`a line of more than ${MAX_BYTES} bytes`);
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
  }

  /** The next message, or null until there is a complete line. Throws for a line that is not a message, once. */
  readMessage(): JSONRPCMessage | null {
    const end = this.#rest.indexOf('\n');
    if (end === -1) return null;
    const line = this.#rest.toString('utf8', 0, end).replace(/\r$/, '');
    this.#rest = this.#rest.subarray(end + 1);
    return deserializeMessage(line);
  }
}
