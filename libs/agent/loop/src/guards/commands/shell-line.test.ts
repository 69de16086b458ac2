import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { effectsOf } from './effects.ts';
import { shellCommands } from './shell-line.ts';
import { parseShell } from './shell-tree.ts';

/** `+` if the exit code of the whole line proves the command's success; `>` for its outputs. */
const read = (line: string): string =>
  shellCommands(line)
    .map(
      ({ words, outputs, shown }) =>
        `${shown ? '+' : '-'}${[...words, ...outputs.map((to) => `>${to}`)].join(' ')}`,
    )
    .join(' | ');

const LINES: [line: string, commands: string][] = [
  ['npm test', '+npm test'],
  ["npm test -- --grep 'a b' # all", '+npm test -- --grep a b'],
  ['npm test || true', '-npm test | -true'],
  ['npm test; true', '-npm test | +true'],
  ['npm test\ntrue\n', '-npm test | +true'],
  ['npm test || :', '-npm test | -:'],
  ['npm test | tail -5', '-npm test | +tail -5'],
  ['npm test |& tee log', '-npm test | +tee log'],
  ['set -o pipefail; npm test | tail', '-set -o pipefail | +npm test | +tail'],
  ['set -e; npm test; echo ok', '-set -e | +npm test | +echo ok'],
  ['set -e; a && npm test; echo ok', '-set -e | -a | -npm test | +echo ok'],
  ['cd x && npm test', '+cd x | +npm test'],
  ['npm test && echo ok || echo no', '-npm test | -echo ok | -echo no'],
  ['npm test || exit 1', '+npm test | -exit 1'],
  ['npm test || { echo no; exit 1; }', '+npm test | -echo no | -exit 1'],
  ['npm test || exit 0', '-npm test | -exit 0'],
  ['npm test &', '-npm test'],
  ['! npm test', '-npm test'],
  ['exit 0; npm test', '-exit 0 | -npm test'],
  ["trap 'exit 0' EXIT; npm test", '-trap exit 0 EXIT | -npm test'],
  ['npm() { :; }; npm test', '-function npm | -: | -npm test'],
  ['npm()(true); npm test', '-function npm | -true | -npm test'],
  ['node -e "function f() {}"; tsc', '-node -e function f() {} | +tsc'],
  ['if npm test; then echo ok; fi', '-npm test | -echo ok'],
  ['for i in 1 2; do npm test; done && tsc', '-npm test | +tsc'],
  ['case $x in a) npm test;; esac; ls', '-npm test | +ls'],
  ['(cd a; npm test) > log 2>&1', '->log | -cd a | +npm test'],
  ['bash -lc "cd a && npm test"', '+cd a | +npm test'],
  ['echo "a; b > c" > d 2>> e', '+echo a; b > c >d >e'],
  ['a &> all; b >| c; d >&2; e < f', '-a | ->all | -b >c | -d | +e'],
  ['npm test &> all', '-npm test | +>all'],
  ['(set -e; npm test; echo ok) && echo', '-set -e | -npm test | +echo ok | +echo'],
  ['set -e; { npm test; echo ok; } || exit 1', '-set -e | -npm test | +echo ok | -exit 1'],
  ["set -e; sh -c 'set -e; npm test; echo ok' && echo", '-set -e | -set -e | +npm test | +echo ok | +echo'],
  ['set -o errexit; npm test; echo ok', '-set -o errexit | +npm test | +echo ok'],
  ['npm test || (echo no || exit 1)', '-npm test | -echo no | -exit 1'],
  ['npm test || { exit 1 & }', '-npm test | -exit 1'],
  ['npm test || exit 256', '-npm test | -exit 256'],
  ['sh -nc "npm test"', ''],
  ['set -n; npm test', '-set -n | -npm test'],
  ['constructor && npm test', '+constructor | +npm test'],
  ["cat > x <<'EOF'\nnpm test > y\nEOF\nls", '-cat >x | +ls'],
  ['cat <<-E > x\n\tin\n\tE\nls', '-cat >x | +ls'],
  ['x=$(npm test; echo) && y="$(ls > z)"', '+x=$(npm test; echo) | +y=$(ls > z)'],
  ['echo `npm test` $(a b) a\\ b', '+echo `npm test` $(a b) a b'],
  ['eval "npm test"', '-eval npm test'],
  ['npm test && tsc &> all', '-npm test | -tsc | +>all'],
  ['(npm test) &> all', '-npm test | +>all'],
  ['[[ -f a && -s b ]] && npm test', '+[[ -f a && -s b ]] | +npm test'],
  ['time npm test', '+npm test'],
  ['npm test; if', '-npm test'],
  ['npm test &&', '-npm test'],
  ['npm test "unclosed', '-npm test unclosed'],
];

for (const [line, commands] of LINES) {
  test(`a command line is parsed: ${JSON.stringify(line)}`, () => assert.equal(read(line), commands));
}

test('no line makes the parser throw, hang or invent commands', () => {
  const pieces = fc.constantFrom(
    ...'a ;|&(){}`"\'\\\n#><!',
    ...['&&', '||', '$(', '<<', '${', 'EOF', 'sh -c '],
    ...['if ', 'fi', 'for ', 'done', 'case ', 'esac', 'then ', 'do '],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
      const line = parts.join('');
      assert.ok(shellCommands(line).length <= line.length + 1, line);
    }),
    { numRuns: 2000 },
  );
  const repeated = [
    'a&&',
    'a||',
    'a|',
    '>a ',
    '(',
    '$(',
    '"$(',
    '{ ',
    'if ',
    "'",
    '`',
    '<<E\n',
    'sh -c "',
    '! ',
  ];
  for (const one of repeated) assert.ok(shellCommands(one.repeat(20_000)).length <= 100_000, one);
});

test('a line that is nested too deep, or too long, is judged as one that may write anything', () => {
  assert.equal(parseShell('coproc '.repeat(20_000)), undefined);
  for (const line of ['coproc '.repeat(20_000), `echo ${'x'.repeat(50_000)}`])
    assert.deepEqual(effectsOf(line), [{ kind: 'write', path: undefined, command: line.trim() }]);
  assert.equal(read('npm test && coproc cat'), '+npm test | -cat');
});
