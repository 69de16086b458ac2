import { cutTo } from '@hermes-fleet/protocol';

/** Cuts a detail for the journal, a message or a log line to 500 characters. */
export const cut = (text: string): string => cutTo(text, 500);

/** The lines of a text, which may have millions: none is made before it is asked for. */
export function* linesOf(text: string): Generator<string, undefined> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    yield text.slice(start, end === -1 ? text.length : end);
    start = end === -1 ? text.length : end + 1;
  }
}
