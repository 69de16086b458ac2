import { after, calls, edit, read, type Script, says, sh } from '../script/script.ts';

const TESTS = 'node --test test/*.test.mjs';
const ANALYSIS =
  'LOSES-VALUE: `line.split("=")` cuts a value at its second `=`. READS-COMMENT: a line with `#` that contains `=` becomes an entry.';
const FIXED =
  "{\n    const at = line.indexOf('=');\n    return [line.slice(0, at), line.slice(at + 1)];\n  }";

export const script: Script = {
  turns: [
    [calls(read('src/parse.mjs'), read('test/parse.test.mjs')), says(ANALYSIS, /Reads `key=value` lines/)],
    [
      // What the first message led to is part of the conversation.
      after(
        [/cuts a value at its second/, /Reads `key=value` lines/],
        edit('src/parse.mjs', "line.split('=')", FIXED),
        edit(
          'test/parse.test.mjs',
          "test('lines'",
          "test('LOSES-VALUE', () => assert.deepEqual(parse('a=b=c'), { a: 'b=c' }));\ntest('lines'",
        ),
      ),
      calls(sh(TESTS)),
      says('LOSES-VALUE is corrected: the entry is split at its first `=`. The new test passes.'),
    ],
    [
      after(
        [/cuts a value at its second/, /LOSES-VALUE is corrected/],
        edit(
          'src/parse.mjs',
          "line.includes('=')",
          "line.includes('=') && !line.trimStart().startsWith('#')",
        ),
        edit(
          'test/parse.test.mjs',
          "test('lines'",
          "test('READS-COMMENT', () => assert.deepEqual(parse('# a=b\\n #c=d'), {}));\ntest('lines'",
        ),
      ),
      calls(sh(TESTS)),
      says('READS-COMMENT is corrected too, with a test.'),
    ],
  ],
};
