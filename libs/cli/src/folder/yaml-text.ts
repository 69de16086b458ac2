import { FleetError } from '@hermes-fleet/protocol';
import { isMap, isScalar, isSeq, type Node, parseDocument } from 'yaml';

/** The place of an edit: the keys from the root of the document. */
type Path = readonly string[];

/** A YAML file that is edited as text: an edit touches its own lines, and comments and form of all others stay. */
export interface YamlFile {
  readonly path: string;
  readonly text: string;
}

/** The lines of an entry or an item, from the line where it starts up to the one where the next thing starts. */
interface Span {
  readonly from: number;
  /** The line with its key or its dash, after the comment above it. */
  readonly line: number;
  readonly to: number;
}

/** The keys of a map; empty where it is not there. */
export const keysOf = (file: YamlFile, path: Path): readonly string[] =>
  entriesAt(file, path).map(({ key }) => key);

/** Adds an entry at the end of a map, or replaces the one with this key. `lines` begin with the key. Throws CONFIG_INVALID. */
export function putEntry(file: YamlFile, path: Path, key: string, lines: readonly string[]): YamlFile {
  const entries = entriesAt(file, path);
  const own = entries.find((entry) => entry.key === key);
  return put(file, path, { lines, own, last: entries.at(-1) });
}

/** Removes an entry with the comment above it. Nothing changes where it is not there. Throws CONFIG_INVALID. */
export function removeEntry(file: YamlFile, path: Path, key: string): YamlFile {
  const entries = entriesAt(file, path);
  const own = entries.find((entry) => entry.key === key);
  return own ? cut(file, path, own, entries.length === 1 ? '{}' : undefined) : file;
}

/** Adds an item at the end of a list unless one is there that `isOwn` recognizes by its text. Throws CONFIG_INVALID. */
export function putItem(
  file: YamlFile,
  path: Path,
  isOwn: (text: string) => boolean,
  line: string,
): YamlFile {
  const items = itemsAt(file, path);
  if (items.some(({ text }) => isOwn(text))) return file;
  return put(file, path, { lines: [`- ${line}`], own: undefined, last: items.at(-1) });
}

/** Removes the item that `isOwn` recognizes by its text, with the comment above it. Throws CONFIG_INVALID. */
export function removeItem(file: YamlFile, path: Path, isOwn: (text: string) => boolean): YamlFile {
  const items = itemsAt(file, path);
  const own = items.find(({ text }) => isOwn(text));
  return own ? cut(file, path, own, items.length === 1 ? '[]' : undefined) : file;
}

/** Sets a value; `text` is YAML on one line. A key that is not there is added. Throws CONFIG_INVALID. */
export function setValue(file: YamlFile, path: Path, text: string): YamlFile {
  const key = path.at(-1) ?? '';
  const node = nodeAt(file, path);
  const [start, end] = node?.range ?? [];
  if (start === undefined || end === undefined)
    return putEntry(file, path.slice(0, -1), key, [`${key}: ${text}`]);
  if (!isScalar(node)) throw notEditable(file, path, 'is not one value');
  return { ...file, text: file.text.slice(0, start) + text + file.text.slice(end) };
}

/** A text as YAML on one line. */
export const scalar = (text: string): string =>
  /^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text);

const notEditable = ({ path: file }: YamlFile, path: Path, why: string): FleetError =>
  new FleetError(
    'CONFIG_INVALID',
    `${file}: ${path.join('.')} ${why}, so it cannot be edited: write it as in the shipped file`,
    {
      fields: [{ path: `${file} ${path.join('.')}`, reason: why }],
    },
  );

function nodeAt(file: YamlFile, path: Path): Node | undefined {
  const document = parseDocument(file.text, { uniqueKeys: false });
  const [error] = document.errors;
  if (error) throw new FleetError('CONFIG_INVALID', `${file.path} is not valid YAML: ${error.message}`);
  const found: unknown = document.getIn(path, true);
  return isMap(found) || isSeq(found) || isScalar(found) ? found : undefined;
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length - 1;
const indentOf = (line: string): number => line.search(/\S|$/);
const isComment = (line = ''): boolean => /^\s*#/.test(line);

/** The lines of what starts at the line `start`, with the comment above it, without blank lines at their end. */
function spanFrom(lines: readonly string[], start: number, kind: 'entry' | 'item'): Span {
  const column = indentOf(lines[start] ?? '');
  // A list may be as far to the left as its key.
  const isOfList = (line: string): boolean =>
    kind === 'entry' && indentOf(line) === column && line.trimStart().startsWith('- ');
  const goesOn = (line: string): boolean => line.trim() === '' || indentOf(line) > column || isOfList(line);
  let to = start + 1;
  while (to < lines.length && goesOn(lines[to] ?? '')) to += 1;
  while ((lines[to - 1] ?? '').trim() === '') to -= 1;
  let from = start;
  while (indentOf(lines[from - 1] ?? '') === column && isComment(lines[from - 1])) from -= 1;
  return { from, line: start, to };
}

function entriesAt(file: YamlFile, path: Path): readonly (Span & { readonly key: string })[] {
  const node = nodeAt(file, path);
  if (node === undefined || (isScalar(node) && node.value === null)) return [];
  if (!isMap(node)) throw notEditable(file, path, 'is not a map');
  if (node.flow && node.items.length > 0) throw notEditable(file, path, 'is a map in braces');
  const lines = file.text.split('\n');
  return node.items.map(({ key }) => {
    if (!isScalar(key) || !key.range) throw notEditable(file, path, 'has a key that is not a name');
    const line = lineAt(file.text, key.range[0]);
    return { key: String(key.value), ...spanFrom(lines, line, 'entry') };
  });
}

function itemsAt(file: YamlFile, path: Path): readonly (Span & { readonly text: string })[] {
  const node = nodeAt(file, path);
  if (node === undefined || (isScalar(node) && node.value === null)) return [];
  if (!isSeq(node)) throw notEditable(file, path, 'is not a list');
  if (node.flow && node.items.length > 0) throw notEditable(file, path, 'is a list in brackets');
  const lines = file.text.split('\n');
  return node.items.map((item) => {
    if (!(isMap(item) || isScalar(item)) || !item.range) throw notEditable(file, path, 'has an unusual item');
    const line = lineAt(file.text, item.range[0]);
    const span = spanFrom(lines, line, 'item');
    return { ...span, text: lines.slice(line, span.to).join('\n') };
  });
}

/** Puts lines in place of `own`, else after `last`, else as the first thing of a map or list that is empty. */
function put(
  file: YamlFile,
  path: Path,
  {
    lines: added,
    own,
    last,
  }: { readonly lines: readonly string[]; readonly own: Span | undefined; readonly last: Span | undefined },
): YamlFile {
  const lines = file.text.split('\n');
  const beside = own ?? last;
  if (beside) {
    const indent = ' '.repeat(indentOf(lines[beside.line] ?? ''));
    const indented = added.map((line) => indent + line);
    const [at, removed] = own ? [own.line, own.to - own.line] : [beside.to, 0];
    return { ...file, text: lines.toSpliced(at, removed, ...indented).join('\n') };
  }
  const parent = entriesAt(file, path.slice(0, -1)).find(({ key }) => key === path.at(-1));
  if (!parent) throw notEditable(file, path, 'is not there');
  const at = parent.line;
  const line = lines[at] ?? '';
  const head = line.replace(/:\s*(\{\s*\}|\[\s*\])?\s*$/, ':');
  if (head === line && !line.endsWith(':'))
    throw notEditable(file, path, 'is not an empty map or list of its own line');
  const indented = added.map((each) => ' '.repeat(indentOf(line) + 2) + each);
  return { ...file, text: lines.toSpliced(at, 1, head, ...indented).join('\n') };
}

/** Removes lines; `empty` then stands for the map or list whose last thing they were. */
function cut(file: YamlFile, path: Path, { from, to }: Span, empty: string | undefined): YamlFile {
  const lines = file.text.split('\n').toSpliced(from, to - from);
  if (empty === undefined) return { ...file, text: lines.join('\n') };
  const parent = entriesAt(file, path.slice(0, -1)).find(({ key }) => key === path.at(-1));
  if (!parent) throw notEditable(file, path, 'is not below a key');
  return { ...file, text: lines.toSpliced(parent.line, 1, `${lines[parent.line]} ${empty}`).join('\n') };
}
