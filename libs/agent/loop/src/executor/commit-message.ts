import { stripVTControlCharacters } from 'node:util';
import { cutTo } from '@hermes-fleet/protocol';
import type { Evidence } from '@hermes-fleet/protocol/handshake';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import type { CommitAuthor } from '../config/commit-config.ts';
import { harmless, withoutCommand } from './harmless-text.ts';

const WIDTH = 72;
const MAX_TEXT_CHARS = 8_000;
const MAX_BODY_CHARS = 2_000;
const MAX_BODY_LINES = 20;
const MAX_ENTRIES = 10;
const MAX_ENTRY_CHARS = 200;

export interface CommitMessageOptions {
  readonly taskId: string;
  readonly result: Pick<RunOutcome, 'status' | 'text' | 'output' | 'remaining' | 'error' | 'evidence'>;
  /** As `workspace.commit.trailers` has them. */
  readonly trailers: Readonly<Record<string, string>>;
  readonly signOff: CommitAuthor | undefined;
}

/**
 * The message of a result's commit (docs/configuration.md#commits): a subject of at most 72 characters, a body, and a last
 * paragraph that git reads as the trailers of the gateway. Whatever the result says, git reads no other trailers, and forges obey
 * nothing in it (see `harmless`). Lines have at most 72 characters, but for longer words and what stands in fences.
 */
export function commitMessage({ taskId, result, trailers, signOff }: CommitMessageOptions): string {
  const task = oneLine(taskId);
  // The text of a JSON reply is its value, which describes nothing.
  const text = result.output === undefined ? (result.text ?? '') : '';
  const { subject, rest } = split(clean(cutTo(text, MAX_TEXT_CHARS)));
  const body = [summary(rest), notFinished(result), checked(result.evidence ?? [])];
  const block = [
    `Fleet-Task: ${task}`,
    ...Object.entries(trailers).map(([name, value]) => `${name}: ${value}`),
    ...(signOff === undefined ? [] : [`Signed-off-by: ${signOff.name} <${signOff.email}>`]),
  ];
  const paragraphs = [subject || cutToWidth(`Task ${task}`), ...body.map(paragraph), block.join('\n')];
  return `${paragraphs.filter((each) => each !== '').join('\n\n')}\n`;
}

/** Without control characters except `\n`, those that change the direction of a text, and those that are no UTF-8 for git. */
const clean = (text: string): string =>
  stripVTControlCharacters(text.toWellFormed())
    .replace(/\r\n?|[\p{Zl}\p{Zp}]/gu, '\n')
    .replaceAll('\t', '  ')
    .replace(/[^\P{Cc}\n]|\p{Bidi_Control}|\p{Noncharacter_Code_Point}/gu, '');

const oneLine = (text: string): string =>
  harmless(clean(cutTo(text, MAX_TEXT_CHARS)).replace(/\s+/g, ' ').trim());

/** A heading that says nothing of the work. */
const HEADING =
  /^(?:(?:final )?(?:summary|answer|report)|results?|outcome|(?:all )?done|changes(?: made)?)!?$/i;

/** Parts of a subject that `git am` leaves out at its start. */
const LABELS = /\[[^\]]*\]|re:/gi;

/** The subject: the first line that says something, or its first sentence where it is too long. `rest` has what it leaves out. */
function split(text: string): { readonly subject: string; readonly rest: string } {
  const lines = text.split('\n');
  const says = lines.map(
    (line) => /[\p{L}\p{N}]/u.test(unmarked(line).replace(LABELS, '')) && !/^\s*(?:```|~~~)/.test(line),
  );
  const first = says.indexOf(true);
  const second = says.indexOf(true, first + 1);
  const at = second !== -1 && HEADING.test(unended(unmarked(lines[first] ?? ''))) ? second : first;
  const line = unmarked(lines[at] ?? '');
  const after = lines.slice(at + 1);
  const subject = cutToWidth(unended(line));
  if (subject === unended(line)) return { subject, rest: after.join('\n') };
  const sentence = /^.{15,72}?[.!?](?= \p{Lu})/u.exec(line)?.[0] ?? '';
  if (sentence === '') return { subject, rest: lines.slice(at).join('\n') };
  return {
    subject: cutToWidth(unended(sentence)),
    rest: [line.slice(sentence.length).trim(), ...after].join('\n'),
  };
}

/** A line without the marks of a heading, a list, a quotation, a rule or bold text. */
const unmarked = (line: string): string =>
  withoutCommand(
    oneLine(
      line
        .replace(/\*\*(.+?)\*\*/g, '$1')
        .replace(/^(?:\s|#{1,6}\s|>|[-*+]\s|-{3,}(?=\s)|\d{1,3}[.)]\s)*/, ''),
    ),
  );

const unended = (line: string): string => line.replace(/[\s.:。]+$/, '');

/** Ends at a word, unless that would leave less than half of the line. */
function cutToWidth(text: string): string {
  const characters = Array.from(text);
  if (characters.length <= WIDTH) return text;
  const kept = characters.slice(0, WIDTH - 1).join('');
  const end = characters[WIDTH - 1] === ' ' ? kept.length : kept.lastIndexOf(' ');
  return `${(end > WIDTH / 2 ? kept.slice(0, end) : kept).trimEnd()}…`;
}

function summary(text: string): string {
  const lines = cutTo(text.replace(/^(?:[^\S\n]*\n)+/, ''), MAX_BODY_CHARS).split('\n');
  return (lines.length > MAX_BODY_LINES ? [...lines.slice(0, MAX_BODY_LINES), '…'] : lines).join('\n');
}

function notFinished({ status, remaining = [], error }: CommitMessageOptions['result']): string {
  if (status === 'done') return '';
  const entries = [...(error === undefined ? [] : [error.message]), ...remaining];
  const more = entries.length - MAX_ENTRIES;
  return list('Not finished:', entries.slice(0, MAX_ENTRIES), more > 0 ? `${more} more` : '');
}

function checked(evidence: readonly Evidence[]): string {
  const entries = [...new Set(evidence.flatMap(entryOf))];
  const earlier = entries.length - MAX_ENTRIES;
  return list('Checked:', entries.slice(-MAX_ENTRIES), earlier > 0 ? `${earlier} earlier ones` : '');
}

function entryOf({ kind, detail, exitCode, afterWrite }: Evidence): string[] {
  if (kind === 'reread') return [];
  const what = cutTo(oneLine(detail), MAX_ENTRY_CHARS);
  if (kind !== 'command') return [`${kind}: ${what}`];
  const code = typeof exitCode === 'number' ? `exit code ${exitCode}` : 'no exit code';
  return [`${what} (${code}${afterWrite === false ? ', before the last change' : ''})`];
}

/** `more` says how many entries are left out. */
function list(title: string, entries: readonly string[], more: string): string {
  if (entries.length === 0) return '';
  const lines = entries.map((entry) => `- ${cutTo(oneLine(entry), MAX_ENTRY_CHARS + 50)}`);
  return [title, ...lines, ...(more === '' ? [] : [`- and ${more}`])].join('\n');
}

/** Lines at which `git am` begins the patch or another mail. */
const ENDS = /^(?:diff -|Index: |---(?:\s|$)|>?From )/;
/** Lines that it reads as headers of the mail at the start of the body. */
const HEADER = /^(?=(?:From|Date|Subject):|\[PATCH\])/i;

/** Harmless, wrapped, and without lines at which git would end the message or take the author from it. */
function paragraph(text: string): string {
  let isFenced = false;
  const lines = harmless(text.toWellFormed())
    .split('\n')
    .map(withoutCommand)
    .flatMap((line) => {
      const isFence = /^\s*(?:```|~~~)/.test(line);
      if (isFence) isFenced = !isFenced;
      return isFence || isFenced ? [line.trimEnd()] : wrapped(line);
    });
  return lines
    .map((line) => withoutScissors(ENDS.test(line) ? ` ${line}` : line))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\s+$/g, '')
    .replace(HEADER, ' ');
}

/** Without the scissors of `-- >8 --`, at which `git am --scissors` and an editor of messages cut, in a line that is mostly of such. */
function withoutScissors(line: string): string {
  const marks = line.match(/-|>8|8<|>%|%</g)?.join('') ?? '';
  if (!/[8%]/.test(marks) || marks.length * 6 < line.length) return line;
  return line.replace(/>(?=[8%])|[8%](?=<)/g, '$& ');
}

/** The lines of a line. Those after the first begin below the text of a list's entry. */
function wrapped(line: string): string[] {
  if (widthOf(line) <= WIDTH) return [line.trimEnd()];
  const [start = ''] = /^\s*(?:[-*+]\s+|\d{1,3}[.)]\s+)?/.exec(line) ?? [];
  const [first = '', ...words] = line.slice(start.length).trimEnd().split(/\s+/);
  const lead = start.slice(-WIDTH / 2);
  const lines: string[] = [];
  let current = lead + first;
  for (const word of words) {
    const longer = `${current} ${word}`;
    if (widthOf(longer) > WIDTH) lines.push(current);
    current = widthOf(longer) > WIDTH ? withoutCommand(' '.repeat(lead.length) + word) : longer;
  }
  return [...lines, current.trimEnd()];
}

const widthOf = (text: string): number => Array.from(text).length;
