import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ErrorCode } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { createAuthenticator, requireScope } from './auth.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const failure = (code: ErrorCode, message: string) => ({ name: 'FleetError', code, message });

test('a token, or its hash, identifies the caller', () => {
  const authenticate = createAuthenticator([
    { name: 'switch', scopes: ['announce', 'dispatch'], secret: 'switch-token' },
    { name: 'operator', scopes: ['read'], secret: `sha256:${sha256('operator-token')}` },
    { name: 'shouting', scopes: [], secret: `sha256:${sha256('shouting-token').toUpperCase()}` },
  ]);
  assert.deepEqual(authenticate('Bearer switch-token'), {
    name: 'switch',
    scopes: new Set(['announce', 'dispatch']),
  });
  assert.equal(authenticate('bearer  operator-token ').name, 'operator');
  assert.equal(authenticate('BEARER shouting-token').name, 'shouting');
});

test('everything else is rejected', () => {
  const authenticate = createAuthenticator([{ name: 'switch', scopes: [], secret: 'switch-token' }]);
  const unknown = failure(
    'UNAUTHENTICATED',
    'this token is not accepted here; check which service it is for',
  );
  const malformed = failure('UNAUTHENTICATED', 'the Authorization header is not "Bearer <token>"');
  assert.throws(
    () => authenticate(undefined),
    failure('UNAUTHENTICATED', 'a token is required; send "Authorization: Bearer <token>"'),
  );
  for (const header of [
    'Bearer switch-toke',
    'Bearer switch-tokenn',
    `Bearer sha256:${sha256('switch-token')}`,
  ]) {
    assert.throws(() => authenticate(header), unknown, header);
  }
  for (const header of [
    '',
    'Bearer',
    'Bearer ',
    'Basic c3dpdGNo',
    'switch-token',
    'Bearer a b',
    'xBearer switch-token',
  ]) {
    assert.throws(() => authenticate(header), malformed, header);
  }
  assert.throws(() => createAuthenticator([])('Bearer switch-token'), unknown);
});

test('an error names the scope that the caller lacks', () => {
  const caller: Caller = { name: 'neo', scopes: new Set(['read']) };
  requireScope(caller, 'read');
  assert.throws(
    () => requireScope(caller, 'dispatch'),
    failure('FORBIDDEN', 'caller "neo" lacks the scope "dispatch"'),
  );
});
