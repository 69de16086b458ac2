import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CapturedOutput } from './captured-output.ts';

test('the first and the last half are kept, however the output is split into chunks', () => {
  const chunks = fc.array(fc.string({ unit: fc.constantFrom(...'abcdefghij'), maxLength: 40 }), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 50 }), (printed, half) => {
      const output = new CapturedOutput(2 * half);
      for (const chunk of printed) output.push(Buffer.from(chunk));
      const all = printed.join('');
      const cut = all.length - 2 * half;
      assert.equal(output.totalBytes, all.length);
      assert.equal(
        output.text(),
        cut <= 0 ? all : `${all.slice(0, half)}\n[… ${cut} bytes left out …]\n${all.slice(-half)}`,
      );
    }),
  );
});
