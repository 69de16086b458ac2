import { readFileSync } from 'node:fs';
import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { DIALECTS, type Dialect, TURNS, type Turn } from './turns.ts';

/** One answer as a server sends it: its bytes, and how it ends the connection. */
export interface RawAnswer {
  /** Undefined where the connection is cut or left open without a status. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly end: 'close' | 'hang' | 'cut';
  /** Sent in pieces of so many bytes; default: in one. */
  readonly pieceBytes: number | undefined;
}

export type Answer = RawAnswer | { readonly turn: Turn } | { readonly say: string };

/** Tokens that a run must have booked: as metered, with cached ones inside the input, or as an estimate of about so many. */
export type Booked =
  | { readonly input: number; readonly output: number; readonly cached: number; readonly reasoning: number }
  | { readonly least: number; readonly most: number };

/** A pattern that the JSON of some requests, counted from 1, must hold or lack. */
export interface RequestCheck {
  readonly first: number;
  readonly last: number;
  readonly pattern: RegExp;
  readonly isThere: boolean;
}

/**
 * How one provider answers one run of "write sum.txt, run a command that fails, mend it, say so", and what must come of it
 * (CONTRIBUTING.md#reports-about-providers). The file has a head and answers. The head is a line for each key:
 *
 * - `what`: one sentence that names the provider; `ends`: done, partial, error or blocked;
 * - `says`: a pattern of the result's text, output, error and remaining work;
 * - `booked`: `28000 in, 20 out`, then `, 5 cached` and `, 5 reasoning`; or `estimated 900 to 9000`, `nothing`; required;
 * - `file NAME`: a pattern of its content; `no file NAME`;
 * - `request 2`, `request 2..`, `request 1..3`: `with` or `without` and a pattern of the JSON that was sent;
 * - `requests`: how many came, as `3` or `1..3`, if not one for each answer;
 * - `config`: keys of config.yaml, as JSON; `reply`: the reply schema;
 * - `dialect`: `chat` by default, or `anthropic`, `google`, `responses`.
 *
 * An answer begins with `--- `. `--- write`, `--- run`, `--- fix`, `--- end` and `--- say WORDS` are ordinary ones of 7,000
 * and 5 tokens. Else a status, a content type and options follow, with ` | ` between, and the body up to the next answer.
 * Options are headers (`retry-after: 2`), `hang` (the connection stays open), `cut` (it breaks), `crlf`, `cr`, `bom`, and
 * `pieces N` (bytes). `--- cut` and `--- hang` alone have no status.
 */
export interface Transcript {
  readonly what: string;
  readonly dialect: Dialect;
  readonly config: JsonObject;
  readonly replySchema: 'json' | undefined;
  readonly ends: 'done' | 'partial' | 'error' | 'blocked';
  readonly says: RegExp | undefined;
  readonly booked: Booked;
  /** Undefined content: there must be no such file. */
  readonly files: readonly { readonly path: string; readonly content: RegExp | undefined }[];
  readonly checks: readonly RequestCheck[];
  readonly requests: { readonly least: number; readonly most: number };
  readonly answers: readonly Answer[];
}

/** Reads a transcript. Throws an error that names file and line. */
export function readTranscript(path: string): Transcript {
  const [head = '', ...blocks] = readFileSync(path, 'utf8').split(/^(?=--- )/m);
  let line = 1;
  const read = <T>(reader: () => T): T => {
    try {
      return reader();
    } catch (error) {
      throw new Error(`${path}:${line}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  };
  const draft: Draft = { files: [], checks: [], single: new Map() };
  for (const each of head.split('\n')) {
    if (each.trim() !== '') read(() => readKey(each, draft));
    line += 1;
  }
  const answers = blocks.map((block, index) => {
    line += index === 0 ? -1 : (blocks[index - 1]?.split('\n').length ?? 1) - 1;
    return read(() => readAnswer(block));
  });
  line = 1;
  return read(() => complete(draft, answers));
}

interface Draft {
  readonly files: { path: string; content: RegExp | undefined }[];
  readonly checks: RequestCheck[];
  readonly single: Map<string, string>;
}

const SINGLE = ['what', 'ends', 'says', 'booked', 'requests', 'config', 'reply', 'dialect'];

function readKey(text: string, draft: Draft): void {
  const [, key = fail('a line of the head is `key: value`'), value = ''] =
    /^([^:]+?):\s*(.*)$/.exec(text) ?? [];
  const [, absent, path] = /^(no )?file (\S+)$/.exec(key) ?? [];
  const [, first, more, last] = /^request (\d+)(\.\.(\d+)?)?$/.exec(key) ?? [];
  if (path !== undefined) draft.files.push({ path, content: absent ? undefined : pattern(value) });
  else if (first !== undefined) {
    const [, out, expected = fail('say `with` or `without`')] = /^with(out)? (.*)$/.exec(value) ?? [];
    draft.checks.push({
      first: Number(first),
      last: Number(last ?? (more === undefined ? first : Number.POSITIVE_INFINITY)),
      pattern: pattern(expected),
      isThere: out === undefined,
    });
  } else if (!SINGLE.includes(key) || draft.single.has(key)) fail(`\`${key}\` is no key, or is there twice`);
  else draft.single.set(key, value);
}

function complete({ files, checks, single }: Draft, answers: readonly Answer[]): Transcript {
  const says = single.get('says');
  const config = parseJson(single.get('config') ?? '{}');
  return {
    what: single.get('what') ?? fail('`what` is missing'),
    dialect: oneOf(DIALECTS, single.get('dialect') ?? 'chat'),
    config: isJsonObject(config) ? config : fail('`config` is no JSON object'),
    replySchema: single.has('reply') ? oneOf(['json'] as const, single.get('reply')) : undefined,
    ends: oneOf(['done', 'partial', 'error', 'blocked'], single.get('ends')),
    says: says === undefined ? undefined : pattern(says),
    booked: readBooked(single.get('booked') ?? fail('`booked` is missing')),
    files,
    checks,
    requests: readCount(single.get('requests') ?? String(answers.length)),
    answers: answers.length > 0 ? answers : fail('there is no answer'),
  };
}

function readCount(text: string): Transcript['requests'] {
  const [, least = fail(`\`${text}\` is no count`), most = least] = /^(\d+)(?:\.\.(\d+))?$/.exec(text) ?? [];
  return { least: Number(least), most: Number(most) };
}

function readBooked(text: string): Booked {
  if (text === 'nothing') return { input: 0, output: 0, cached: 0, reasoning: 0 };
  const [, least, most] = /^estimated (\d+) to (\d+)$/.exec(text) ?? [];
  if (least !== undefined) return { least: Number(least), most: Number(most) };
  const metered = /^(\d+) in, (\d+) out(?:, (\d+) cached)?(?:, (\d+) reasoning)?$/.exec(text);
  const [input = 0, output = 0, cached = 0, reasoning = 0] =
    metered?.slice(1).map((count) => Number(count ?? 0)) ?? fail(`\`${text}\` says no tokens`);
  return { input, output, cached, reasoning };
}

function readAnswer(block: string): Answer {
  const end = block.indexOf('\n');
  const [first = '', type, ...options] = block.slice('--- '.length, end).trim().split(' | ');
  const raw = block.slice(end + 1);
  const [, said] = /^say (.*)$/.exec(first) ?? [];
  if (said !== undefined) return { say: said };
  const turn = TURNS.find((name) => name === first);
  if (turn !== undefined) return { turn };
  const isWord = first === 'cut' || first === 'hang';
  if (!isWord && !/^\d{3}$/.test(first)) fail(`\`${first}\` is neither a status nor an ordinary answer`);
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  let body = raw;
  let pieceBytes: number | undefined;
  let ending: RawAnswer['end'] = isWord ? first : 'close';
  for (const option of options) {
    const [, header, value = ''] = /^([\w-]+): (.*)$/.exec(option) ?? [];
    const [, bytes] = /^pieces (\d+)$/.exec(option) ?? [];
    if (header !== undefined) headers[header] = value;
    else if (bytes !== undefined) pieceBytes = Number(bytes);
    else if (option === 'hang' || option === 'cut') ending = option;
    else if (option === 'crlf') body = body.replaceAll('\n', '\r\n');
    else if (option === 'cr') body = body.replaceAll('\n', '\r');
    else if (option === 'bom') body = `\uFEFF${body}`;
    else fail(`\`${option}\` is no option of an answer`);
  }
  return { status: isWord ? undefined : Number(first), headers, body, end: ending, pieceBytes };
}

function pattern(text: string): RegExp {
  const [, source = fail(`\`${text}\` is no /pattern/`), flags] = /^\/(.*)\/([a-z]*)$/.exec(text) ?? [];
  return new RegExp(source, flags);
}

const oneOf = <T extends string>(words: readonly T[], word: string | undefined): T =>
  words.find((each) => each === word) ?? fail(`\`${word}\` is none of ${words.join(', ')}`);

function fail(what: string): never {
  throw new Error(what);
}
