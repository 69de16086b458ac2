import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { redact, replaceSecrets } from './redact.ts';

/** Pieces of secrets, and what stands around them: random sequences of them are often nearly a secret. */
const PIECES = [
  ...[
    'authorization',
    'Token',
    'SECRET',
    'password',
    'api_key',
    'api-key',
    'apiKey',
    'cookie',
    'credentials',
  ],
  ...[
    'tokens',
    'token_env',
    'x-',
    'Bearer',
    'bearer ',
    'BEARER\t',
    'abcd',
    'a.b~c',
    'nats://',
    'http://',
    'u',
  ],
  ...['"', '\\"', ':', ' ', '@', '/', '{', '}', ',', '\\', '\\\\', '\n', 'é', 'ſ', '1234'],
];

test('the scan of a line never keeps a secret from being replaced', () => {
  let replaced = 0;
  const check = (text: string): void => {
    const expected = replaceSecrets(text);
    assert.equal(redact(text), expected);
    if (expected !== text) replaced += 1;
  };
  const pieces = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((parts) => parts.join(''));
  const named = fc
    .tuple(
      fc.constantFrom('"', '\\"'),
      fc.constantFrom(...PIECES),
      fc.constantFrom(':', ' :', ': ', ''),
      pieces,
    )
    .map(([quote, name, colon, value]) => `{${quote}${name}${quote}${colon}${quote}${value}${quote}}`);
  fc.assert(fc.property(fc.oneof(pieces, named), check), { numRuns: 20_000 });
  fc.assert(fc.property(fc.json(), check), { numRuns: 500 });
  assert.ok(replaced > 500, `only ${replaced} texts had a secret`);
});

test('redaction does not change other text', () => {
  for (const text of [
    '{"msg":"the bearer of news"}',
    '{"url":"http://a.b/c@d"}',
    '{"tokens":"5"}',
    '{"t":"12:30@x"}',
  ]) {
    assert.equal(redact(text), text);
  }
});
