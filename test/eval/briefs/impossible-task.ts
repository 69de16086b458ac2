import { after, calls, edit, failing, read, type Script, says, sh } from '../script/script.ts';

const TESTS = 'node --test test/*.test.mjs';
const OUTCOME = JSON.stringify({
  status: 'partial',
  remaining: [
    'decide whether round(2.5) is 0 or 5: test/shop.test.mjs and test/bank.test.mjs contradict each other',
  ],
});

export const script: Script = {
  turns: [
    [
      calls(
        failing(sh(TESTS)),
        read('src/round.mjs'),
        read('test/shop.test.mjs'),
        read('test/bank.test.mjs'),
      ),
      // A first try makes one test green and another one red, and is taken back.
      after(
        [/half goes to the even step/],
        edit(
          'src/round.mjs',
          'Math.round(cents / 5) * 5',
          '(cents % 5 === 2.5 ? 2 * Math.round(cents / 10) : Math.round(cents / 5)) * 5',
        ),
      ),
      calls(failing(sh(TESTS))),
      calls(sh('git checkout src/round.mjs'), failing(sh(TESTS))),
      says(
        `Not possible: test/shop.test.mjs wants round(2.5) to be 5, test/bank.test.mjs wants 0. The module is as it was.\n\n\`\`\`outcome\n${OUTCOME}\n\`\`\``,
        /half goes up/,
      ),
    ],
  ],
};
