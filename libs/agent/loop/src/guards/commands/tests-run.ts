/** Characters examined at the start and at the end of an output: runners print their totals at either. */
const LOOK_CHARS = 64 * 1024;

/** Phrases that report passed or executed tests, each with the count as its one capture. */
const PASSED = [
  /\b(\d+) (?:tests? )?pass(?:ed|ing)?\b/gi,
  /^[^\w\n]{0,8}pass (\d+)$/gim,
  /\bran (\d+) tests?\b/gi,
  /\btests run: (\d+)/gi,
  /\bOK \((\d+) tests?\b/g,
  /\b(\d+) examples?, 0 failures/g,
  /\b(\d+) (?:scenarios?|specs?|assertions?)\b/gi,
  /\bpassed:?\s+(\d+)\b(?!\.\d)/gi,
  /\btests failed out of (\d+)/gi,
  /\ball (\d+) tests? passed/gi,
  /\bexecuted (\d+) tests?\b/gi,
] as const;
/** Used only if no phrase reports passed tests. */
const TOTAL = [
  /^[^\w\n]{0,8}tests:? {1,20}(\d+)\b/gim,
  /\b(\d+) tests?\b/gi,
  /^1\.\.(\d+)\b/gm,
  /\btests:.{0,80}\b(\d+) total/gi,
] as const;
const GO_PACKAGE = /^ok[ \t]+\S+[ \t]+(?:\(cached\)|[\d.]+s)(?!.*\[no tests to run\])/gm;
const NONE =
  /\bno tests? (?:found|ran|were found|specified|files?|to run|suites? found)\b|\bno test files\b|\bcollected 0 items\b|\bno specs? found\b|\bnothing to test\b/i;
const SKIPPED =
  /\b\d+ (?:skipped|deselected|ignored|pending|todo)\b|^[^\w\n]{0,8}(?:skipped|todo) [1-9]\d*$/im;

/** The number of tests that a runner reports; 0 if none, or all were skipped; undefined if it reports nothing. */
export function testsRun(output: string): number | undefined {
  const text =
    output.length > 2 * LOOK_CHARS ? `${output.slice(0, LOOK_CHARS)}\n${output.slice(-LOOK_CHARS)}` : output;
  const plain = text.replaceAll(ANSI, '');
  const passed = sum(PASSED, plain);
  const packages = [...plain.matchAll(GO_PACKAGE)].length;
  if ((passed ?? 0) > 0 || packages > 0) return (passed ?? 0) + packages;
  if (passed === 0 || NONE.test(plain)) return 0;
  const total = sum(TOTAL, plain);
  if (total !== undefined) return total;
  return SKIPPED.test(plain) ? 0 : undefined;
}

function sum(patterns: readonly RegExp[], text: string): number | undefined {
  const found = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, count]) => Number(count)));
  return found.length === 0 ? undefined : found.reduce((all, count) => all + count, 0);
}

const ANSI = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g');
