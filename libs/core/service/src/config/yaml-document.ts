import { LineCounter, parseAllDocuments, type YAMLError } from 'yaml';
import type { Problem } from './problems.ts';

/**
 * Parses YAML 1.2 strictly: one document, string keys, known tags only. Does not check for duplicate keys. The document is undefined
 * for an empty text, and after an error that makes the rest meaningless. `lineAt` is the line of an offset, from 1.
 */
export function parseYaml(text: string) {
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
