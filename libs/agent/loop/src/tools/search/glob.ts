import { ToolError } from '@hermes-fleet/protocol/ports';

const MAX_ALTERNATIVES = 64;

type Glob = (path: string) => boolean;

/**
 * `*`, `?`, `[a-z]`, `[!a-z]`, `**` and `{a,b}`; without a slash, names in any directory. Time is at most proportional to
 * pattern times path. Throws ToolError for an invalid pattern.
 */
export function parseGlob(pattern: string): Glob {
  const alternatives = expand(pattern).map((alternative) => {
    const anywhere = alternative.includes('/') ? [] : ['**'];
    const names = [...anywhere, ...alternative.split('/').filter((name) => name !== '' && name !== '.')];
    return names.map((name) => (name === '**' ? name : parseName(name)));
  });
  return (path) => {
    const names = path.split('/');
    return alternatives.some((parts) =>
      matches(
        parts,
        names,
        (part) => part === '**',
        (part, name) => part !== '**' && matchesName(part, name),
      ),
    );
  };
}

type Step = '*' | ((character: string) => boolean);

const matchesName = (steps: readonly Step[], name: string): boolean =>
  matches(
    steps,
    [...name],
    (step) => step === '*',
    (step, character) => step !== '*' && step(character),
  );

/** Matches from the left; on a mismatch, backtracks and lets the last star take one more item. */
function matches<P, I>(
  pattern: readonly P[],
  items: readonly I[],
  isStar: (part: P) => boolean,
  fits: (part: P, item: I) => boolean,
): boolean {
  let [at, star, taken] = [0, -1, 0];
  for (let index = 0; index < items.length; ) {
    const [part, item] = [pattern[at], items[index]];
    if (part !== undefined && isStar(part)) {
      star = at++;
      taken = index;
    } else if (part !== undefined && item !== undefined && fits(part, item)) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      index = ++taken;
    } else return false;
  }
  return pattern.slice(at).every(isStar);
}

function parseName(name: string): Step[] {
  const steps: Step[] = [];
  for (const [token] of name.matchAll(/\[(?:!|\^)?\]?[^\]]*\]|\\.|./gsu)) {
    if (token === '*') {
      if (steps.at(-1) !== '*') steps.push('*');
    } else if (token === '?') steps.push(() => true);
    else if (token.length > 2 && token.startsWith('[')) steps.push(parseClass(token.slice(1, -1)));
    else {
      const literal = token.length > 1 && token.startsWith('\\') ? token.slice(1) : token;
      steps.push((character) => character === literal);
    }
  }
  return steps;
}

function parseClass(inner: string): (character: string) => boolean {
  const negated = /^[!^]/.test(inner);
  const items = [...(negated ? inner.slice(1) : inner).matchAll(/(.)-(.)|(.)/gsu)];
  return (character) =>
    items.some(([, from, to, single]) =>
      from === undefined || to === undefined ? single === character : from <= character && character <= to,
    ) !== negated;
}

function expand(pattern: string): string[] {
  const open = pattern.lastIndexOf('{');
  if (open < 0) return [pattern];
  const close = pattern.indexOf('}', open);
  if (close < 0) throw new ToolError('the pattern has a { without its }');
  const choices = pattern.slice(open + 1, close).split(',');
  const expanded: string[] = [];
  for (const choice of choices) {
    const rest = expand(`${pattern.slice(0, open)}${choice}${pattern.slice(close + 1)}`);
    if (expanded.length + rest.length > MAX_ALTERNATIVES)
      throw new ToolError(`the braces of the pattern have more than ${MAX_ALTERNATIVES} combinations`);
    expanded.push(...rest);
  }
  return expanded;
}
