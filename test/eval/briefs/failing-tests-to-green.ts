import { after, calls, edit, failing, read, type Script, says, sh } from '../script/script.ts';

const TESTS = 'node --test test/*.test.mjs';

export const script: Script = {
  turns: [
    [
      calls(failing(sh(TESTS))),
      after(
        [/oldest entry is dropped/],
        ...['slug', 'range', 'queue', 'duration'].map((name) => read(`src/${name}.mjs`)),
      ),
      calls(
        edit(
          'src/slug.mjs',
          ".replace(/[^a-z0-9]/g, '-');",
          ".replace(/\\p{M}/gu, '')\n    .replace(/[^a-z0-9]+/g, '-')\n    .replace(/^-|-$/g, '');",
        ),
        edit('src/queue.mjs', 'this.#entries.pop();', 'this.#entries.shift();'),
      ),
      calls(failing(sh(TESTS))),
      calls(
        edit(
          'src/range.mjs',
          'for (let number = first; number < last; number += 1) all.push(number);',
          'const step = last < first ? -1 : 1;\n  for (let number = first; number !== last + step; number += step) all.push(number);',
        ),
        edit('src/duration.mjs', 'h: 360,', 'h: 3600,'),
      ),
      calls(failing(sh(TESTS))),
      after(
        [/anything else is an error/],
        edit(
          'src/duration.mjs',
          '  let sum = 0;',
          "  if (!/^\\s*(\\d+\\s*[smhd]\\s*)+$/.test(text)) throw new RangeError('no duration: ' + text);\n  let sum = 0;",
        ),
      ),
      calls(sh(TESTS)),
      says('All tests pass; only the four modules changed.'),
    ],
  ],
};
