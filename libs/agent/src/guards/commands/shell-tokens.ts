export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly quoted: boolean }
  /** `&&`, `||`, `|`, `;`, `&`, `(`, `)`; a newline is `;`. */
  | { readonly kind: 'operator'; readonly text: string }
  | { readonly kind: 'redirect'; readonly text: string };

const OPERATORS = ['&&', '||', '|&', ';;', '|', ';', '&', '(', ')'] as const;
/** `&>` is not included: sh reads it as `&` and `>`, a background command whose exit code is lost. */
const REDIRECTS = ['<<<', '<<-', '<<', '<>', '<&', '>>', '>&', '>|', '<', '>'] as const;
const PLAIN = /[^\s"'\\$`|&;<>()#]+/y;

/**
 * Splits a command line into tokens as sh does, without evaluating expansions. The body of a here-document replaces its
 * delimiter word. Never throws: an unclosed quote or expansion extends to the end.
 */
export function shellTokens(line: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let word: { text: string; quoted: boolean } | undefined;
  const heredocs: { word: { text: string }; tabs: boolean }[] = [];
  let wanted: { tabs: boolean } | undefined;

  function endWord(): void {
    if (word === undefined) return;
    const token = { kind: 'word' as const, ...word };
    if (wanted !== undefined) heredocs.push({ word: token, tabs: wanted.tabs });
    wanted = undefined;
    tokens.push(token);
    word = undefined;
  }
  function add(text: string, quoted = false): void {
    word = { text: (word?.text ?? '') + text, quoted: quoted || (word?.quoted ?? false) };
  }

  while (at < line.length) {
    const char = line.charAt(at);
    if (char === '\n') {
      endWord();
      tokens.push({ kind: 'operator', text: ';' });
      at += 1;
      for (const { word: end, tabs } of heredocs.splice(0)) {
        const after = afterHeredoc(line, at, end.text, tabs);
        end.text = line.slice(at, after);
        at = after;
      }
    } else if (char === ' ' || char === '\t' || char === '\r') {
      endWord();
      at += 1;
    } else if (char === '#' && word === undefined) {
      const end = line.indexOf('\n', at);
      at = end === -1 ? line.length : end;
    } else if (char === '\\') {
      if (line[at + 1] !== '\n') add(line.charAt(at + 1), true);
      at += 2;
    } else if (char === "'") {
      const end = endOf(line, "'", at + 1);
      add(line.slice(at + 1, end), true);
      at = end + 1;
    } else if (char === '"') {
      const end = endOfDouble(line, at + 1);
      add(line.slice(at + 1, end).replace(/\\(["\\$`])/g, '$1'), true);
      at = end + 1;
    } else if (char === '`' || line.startsWith('$(', at) || line.startsWith('${', at)) {
      const end = endOfExpansion(line, at);
      add(line.slice(at, end));
      at = end;
    } else {
      const redirect = REDIRECTS.find((text) => line.startsWith(text, at));
      const operator = redirect ?? OPERATORS.find((text) => line.startsWith(text, at));
      if (operator === undefined) {
        PLAIN.lastIndex = at;
        const text = PLAIN.exec(line)?.[0] ?? char;
        add(text);
        at += text.length;
        continue;
      }
      // A digit directly before a redirection is its file descriptor.
      if (redirect !== undefined && word !== undefined && /^\d$/.test(word.text)) word = undefined;
      endWord();
      if (redirect === '<<' || redirect === '<<-') wanted = { tabs: redirect === '<<-' };
      tokens.push({ kind: redirect === undefined ? 'operator' : 'redirect', text: operator });
      at += operator.length;
    }
  }
  endWord();
  return tokens;
}

function endOf(line: string, char: string, from: number): number {
  const end = line.indexOf(char, from);
  return end === -1 ? line.length : end;
}

function endOfDouble(line: string, from: number): number {
  let at = from;
  while (at < line.length && line[at] !== '"') {
    if (line[at] === '\\') at += 2;
    else if (line[at] === '`' || line.startsWith('$(', at)) at = endOfExpansion(line, at);
    else at += 1;
  }
  return Math.min(at, line.length);
}

const PAIRS: Readonly<Record<string, string>> = { '(': ')', '{': '}' };

/** The index after `$(…)`, `${…}` or backticks. Quotes inside are skipped. */
function endOfExpansion(line: string, from: number): number {
  if (line[from] === '`') return Math.min(endOf(line, '`', from + 1) + 1, line.length);
  const open = line.charAt(from + 1);
  const close = PAIRS[open];
  let depth = 0;
  let at = from + 1;
  while (at < line.length) {
    const char = line[at];
    if (char === "'") at = endOf(line, "'", at + 1);
    else if (char === '\\') at += 1;
    else if (char === open) depth += 1;
    else if (char === close) depth -= 1;
    at += 1;
    if (depth === 0) break;
  }
  return Math.min(at, line.length);
}

function afterHeredoc(line: string, from: number, end: string, tabs: boolean): number {
  let at = from;
  while (at < line.length) {
    const stop = endOf(line, '\n', at);
    const text = line.slice(at, stop);
    at = Math.min(stop + 1, line.length);
    if ((tabs ? text.replace(/^\t+/, '') : text) === end) return at;
  }
  return at;
}
