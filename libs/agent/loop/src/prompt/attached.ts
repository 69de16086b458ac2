import type { MessagePart } from '@hermes-fleet/protocol/ports';
import { dataBlock, dataLine } from './untrusted-data.ts';

/** The most characters that the lines of data in the task's message have; more of it goes into a file of the workspace. */
const MAX_INLINE_CHARS = 16_000;

const MAX_MEDIA_TYPE_CHARS = 100;

export type DataPart = Extract<MessagePart, { kind: 'data' }>;

/** The data to show with a brief, and its files by their place in the workspace. */
export interface Attached {
  readonly data: readonly DataPart[];
  /** One line for each file: a `shownName` and what is known about it. */
  readonly files: readonly string[];
}

/** Characters that could hide something, or close the block around the JSON. They occur only in strings. */
const UNSAFE_IN_JSON = /[^\P{C}\n]|[\p{Zl}\p{Zp}<>]/gu;

/** JSON in one line that means the same, shows everything, and cannot close the block around it. */
export const safeJson = (value: unknown): string =>
  JSON.stringify(value).replace(UNSAFE_IN_JSON, (char) =>
    Array.from(
      { length: char.length },
      (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );

const shownLine = (part: DataPart): string => `${typeOf(part)}: ${safeJson(part.data)}`;

/** The part of the task's message after the brief; empty when nothing came with it (docs/agent.md#data-and-files). */
export function attachedText({ data, files }: Attached): string {
  const shown = data.map(shownLine);
  return [
    ...(shown.length === 0
      ? []
      : [`Data that came with the task, as JSON, one line for each part:\n${dataBlock('message', shown)}`]),
    ...(files.length === 0
      ? []
      : [`Files that came with the task, in the workspace:\n${dataBlock('files', files)}`]),
  ]
    .map((block) => `\n\n${block}`)
    .join('');
}

/** The data for the task's message, in its order, and what does not fit. */
export function byLength(parts: readonly MessagePart[]): {
  readonly shown: DataPart[];
  readonly long: DataPart[];
} {
  const [shown, long]: [DataPart[], DataPart[]] = [[], []];
  let left = MAX_INLINE_CHARS;
  for (const part of parts) {
    if (part.kind !== 'data') continue;
    // The line ends with a newline.
    const chars = shownLine(part).length + 1;
    if (chars > left) long.push(part);
    else {
      left -= chars;
      shown.push(part);
    }
  }
  return { shown, long };
}

export const typeOf = ({ mediaType }: MessagePart): string =>
  mediaType === undefined ? 'application/json' : dataLine(mediaType, MAX_MEDIA_TYPE_CHARS);
