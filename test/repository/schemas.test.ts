import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { generated, published, SCHEMAS } from '../support/schemas.ts';

const ADVICE = 'run: make docs';

test('the published JSON Schemas are what the code validates with', () => {
  assert.deepEqual(
    readdirSync(SCHEMAS).sort(),
    generated()
      .map(([file]) => file)
      .sort(),
    ADVICE,
  );
  for (const [file, schema] of generated())
    assert.equal(JSON.stringify(published(file)), JSON.stringify(schema), `${file} is stale; ${ADVICE}`);
});
