import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './fleet.ts';

export interface Doc {
  readonly file: string;
  readonly text: string;
}

/** The Markdown files at the root and below docs/. */
export const docs = (): Doc[] =>
  globSync('{*.md,docs/**/*.md}', { cwd: ROOT }).map((file) => ({
    file,
    text: readFileSync(join(ROOT, file), 'utf8'),
  }));

export const doc = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** The text from a heading of the second level to the next one. */
export function section(text: string, heading: string): string {
  const found = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`there is no section "${heading}"`);
  return found;
}

/** The rows of the Markdown tables of a text that begin with code, their cells as they are written. */
export const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| (`.*) \|$/gm)].map(([, row = '']) => row.split('|').map((cell) => cell.trim()));

/** A cell without its back-quotes. */
export const plain = (cell: string | undefined): string => (cell ?? '').replaceAll('`', '');

/** The code blocks of a language. */
export const fenced = (text: string, language: string): string[] =>
  [...text.matchAll(/^(`{3,})(\w+)\n(.*?)^\1$/gms)].flatMap(([, , found, content = '']) =>
    found === language ? [content] : [],
  );

export interface Block {
  readonly file: string;
  /** The text after `run` in the comment before it. */
  readonly mark: string;
  readonly script: string;
}

/** The shell blocks that a comment marks to be run: `<!-- run -->`, `<!-- run: fleet … -->`. */
export const runnable = (): Block[] =>
  docs().flatMap(({ file, text }) =>
    [...text.matchAll(/<!-- run(?:: ?)?(.*?) ?-->\n(`{3,})sh\n(.*?\n)\2$/gms)].map(
      ([, mark = '', , script = '']) => ({
        file,
        mark,
        script,
      }),
    ),
  );

/** The document with each part between its comments, `<!-- generated, name: begin -->` and `end`, as it is given. */
export const withParts = (text: string, parts: Readonly<Record<string, string>>): string =>
  Object.entries(parts).reduce((whole, [name, part]) => {
    const begin = `<!-- generated, ${name}: begin -->\n`;
    const [from, to] = [whole.indexOf(begin), whole.indexOf(`\n<!-- generated, ${name}: end -->`)];
    if (from < 0 || to < from) throw new Error(`the document has no part "${name}"`);
    return whole.slice(0, from + begin.length) + part + whole.slice(to);
  }, text);

/** A Markdown table. */
export const tableOf = (columns: readonly string[], cells: readonly (readonly string[])[]): string => {
  const row = (texts: readonly string[]): string =>
    `|${texts.map((each) => `${` ${each}`.trimEnd()} `).join('|')}|`;
  return [row(columns), `|${'---|'.repeat(columns.length)}`, ...cells.map(row)].join('\n');
};
