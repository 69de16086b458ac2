import { type Document, LineCounter, parseAllDocuments, type YAMLError } from 'yaml';
import type { Problem } from './problems.ts';

/** A YAML document and the problems of its syntax. */
export interface YamlDocument {
  /** Undefined for an empty text, and after an error that makes the rest meaningless. */
  readonly document: Document | undefined;
  readonly problems: readonly Problem[];
  /** The line of an offset in the text; starts at 1. */
  lineAt(offset: number | undefined): number;
}

/** Parses YAML 1.2 strictly: one document, string keys, known tags only. Does not check for duplicate keys. */
export function parseYaml(text: string): YamlDocument {
  const lineCounter = new LineCounter();
  const lineAt = (offset: number | undefined): number => Math.max(1, lineCounter.linePos(offset ?? 0).line);
  const problems: Problem[] = [];
  const parsed = parseAllDocuments(text, {
    lineCounter,
    prettyErrors: false,
    uniqueKeys: false,
    stringKeys: true,
    strict: true,
    logLevel: 'silent',
  });
  const [document, second] = Array.isArray(parsed) ? parsed : [];
  if (second !== undefined) {
    const reason = 'a second document starts here; a file holds one';
    problems.push({ line: lineAt(second.range[0]), path: '', reason });
  }
  for (const error of [...(document?.errors ?? []), ...(document?.warnings ?? [])]) {
    problems.push({ line: lineAt(error.pos[0]), path: '', reason: reasonOf(error) });
  }
  return { document: document?.errors.length === 0 ? document : undefined, problems, lineAt };
}

function reasonOf({ code, message }: YAMLError): string {
  const [first = ''] = message.split('\n', 1);
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'a tab indents this line; use spaces';
    case 'NON_STRING_KEY':
      return 'a key must be plain text';
    case 'RESOURCE_EXHAUSTION':
      return 'the file is nested too deeply';
    case 'TAG_RESOLVE_FAILED':
      return `${first.replace('Unresolved tag: ', 'unknown tag ').replace('tag:yaml.org,2002:', '!!')}; remove it`;
    default:
      return `not valid YAML: ${first}`;
  }
}
