import {
  added,
  call,
  circle,
  edit,
  failure,
  grep,
  list,
  read,
  rounds,
  sh,
  type Trace,
  write,
} from './trace.ts';

const FAILS = 'not ok 1 - rounds half up\n  AssertionError: expected 3 to equal 2\n# fail 1';
const CONFIG = Array.from({ length: 12 }, (_, at) => `setting_${at} = "value ${at}"`).join('\n');

/** Runs that lead nowhere. */
export const CIRCLES: readonly Trace[] = [
  circle(
    'A to B and back, with the failing test between',
    ...rounds(6, () => [
      edit('src/round.ts', 'Math.floor(x)', 'Math.round(x)'),
      sh('npm test', FAILS, 1),
      edit('src/round.ts', 'Math.round(x)', 'Math.floor(x)'),
      sh('npm test', FAILS, 1),
    ]),
  ),
  circle(
    'A to B and back, with more and with less of the line',
    ...rounds(6, (at) => [
      edit(
        'src/round.ts',
        at % 2 ? 'mode = "up"' : 'let mode = "up";',
        at % 2 ? 'mode = "down"' : 'let mode = "down";',
      ),
      edit(
        'src/round.ts',
        at % 2 ? 'let mode = "down";' : 'mode = "down"',
        at % 2 ? 'let mode = "up";' : 'mode = "up"',
      ),
    ]),
  ),
  circle(
    'A to B to C to A',
    ...rounds(5, () => [
      edit('app.py', 'timeout = 10', 'timeout = 20'),
      edit('app.py', 'timeout = 20', 'timeout = 30'),
      edit('app.py', 'timeout = 30', 'timeout = 10'),
      sh('python3 app.py', 'TimeoutError: no answer', 1),
    ]),
  ),
  circle(
    'two whole versions of a file in turn',
    ...rounds(6, () => [
      write('conf.ini', `${CONFIG}\nmode = fast\n`),
      sh('./check', 'mode must be safe for this', 1),
      write('conf.ini', `${CONFIG}\nmode = safe\n`),
      sh('./check', 'mode must be fast for that', 1),
    ]),
  ),
  circle(
    'the same block is appended by a command',
    ...rounds(8, () => [sh("cat >> .env <<'EOF'\nAPI_URL=http://localhost\nDEBUG=1\nEOF")]),
  ),
  circle(
    'the same block is inserted by edits',
    ...rounds(8, (at) => [
      edit(
        'main.c',
        `int main(void) {\n${'  init_all();\n'.repeat(at)}`,
        `int main(void) {\n${'  init_all();\n'.repeat(at + 1)}`,
      ),
    ]),
  ),
  circle(
    'a file is written with one more copy of its lines each time',
    ...rounds(8, (at) => [write('list.txt', `${CONFIG}\n`.repeat(at + 1))]),
  ),
  circle(
    'one region is rewritten and never looked at',
    ...rounds(12, (at) => [
      edit('src/title.ts', `title = 'Version ${at} of the text'`, `title = 'Version ${at + 1} of the text'`),
    ]),
  ),
  circle(
    'two files are written in turn, each time anew',
    ...rounds(14, (at) => [write(at % 2 ? 'a.html' : 'b.html', `<h1>Draft ${at}</h1>\n`)]),
  ),
  circle(
    'the same command with the same result',
    ...rounds(8, () => [sh('git status', 'nothing to commit')]),
  ),
  circle('the same file is read again and again', ...rounds(8, () => [read('src/index.ts', CONFIG)])),
  circle(
    'three looks in turn that come to the same',
    ...rounds(6, () => [list('.', ['a', 'b']), sh('ls', 'a\nb'), grep('todo', '.', [])]),
  ),
  circle(
    'other commands with the same result',
    ...[
      'cat c.toml',
      'head -50 c.toml',
      'tail -50 c.toml',
      'sed -n 1,50p c.toml',
      'less c.toml',
      'more c.toml',
      'cat ./c.toml',
      'head -n 99 c.toml',
      'cat -s c.toml',
      'tail -n 99 c.toml',
    ].map((command) => sh(command, CONFIG)),
  ),
  circle(
    'the failing test is run again and nothing is changed',
    ...rounds(8, (at) => [sh('npm test', `${FAILS}\nduration_ms ${at * 3 + 100.5}`, 1)]),
  ),
  circle(
    'an edit that does not match, guessed again and again',
    ...rounds(9, (at) => [
      failure(
        'edit_file',
        { path: 'x.go', old_text: `func run${' '.repeat(at)}()`, new_text: 'func Run()' },
        'old_text does not occur in the file; read it again',
      ),
    ]),
  ),
  circle(
    'the test fails, the file is read, and nothing is changed',
    ...rounds(7, () => [sh('pytest -q', 'E   assert 1 == 2\n1 failed', 1), read('calc.py', CONFIG)]),
  ),
  circle(
    'a tool that does not exist',
    ...rounds(8, () => [failure('open_browser', { url: 'x' }, 'there is no tool open_browser')]),
  ),
  circle(
    'sed there and back',
    ...rounds(6, () => [sh("sed -i 's/debug/info/' log.yaml"), sh("sed -i 's/info/debug/' log.yaml")]),
  ),
  circle(
    'tests that pass are run on and on',
    ...rounds(12, () => [sh('npm test', '# tests 80\n# pass 80\n# fail 0')]),
  ),
  circle(
    'A to B and back, with tests that pass for both',
    ...rounds(8, (at) => [
      edit('fmt.js', at % 2 ? "'single'" : '"double"', at % 2 ? '"double"' : "'single'"),
      sh('npm test', '# tests 9\n# pass 9\n# fail 0'),
    ]),
  ),
  circle(
    'stash and pop',
    ...rounds(8, () => [
      sh('git stash', 'Saved working directory'),
      sh('git stash pop', 'Dropped refs/stash'),
    ]),
  ),
  circle(
    'the same note is saved again and again',
    ...rounds(8, () => [
      call('scratchpad_write', { name: 'plan', content: 'begin with the tests' }, { saved: true }),
    ]),
  ),
  circle(
    'the same part is added to a file over and over',
    ...rounds(25, () => [added('manual/guide.md', '## Chapter 1\n\nText of chapter 1.\n')]),
  ),
];
