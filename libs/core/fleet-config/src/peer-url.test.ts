import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withAdvertisedPath } from './peer-url.ts';

describe('the address of an agent with another path in its card', () => {
  for (const [configured, advertised, used] of [
    ['http://helper:4000/jsonrpc', 'http://helper:4000/', 'http://helper:4000/'],
    ['http://helper:4000/jsonrpc', 'http://localhost:4000/a2a/v1?k=1', 'http://helper:4000/a2a/v1?k=1'],
    ['http://helper:4000/jsonrpc', 'http://helper:5000/a2a', 'http://helper:4000/jsonrpc'],
    ['https://helper/jsonrpc', 'http://helper/a2a', 'https://helper/jsonrpc'],
    ['https://helper/jsonrpc', 'https://helper:443/a2a', 'https://helper/a2a'],
  ] as const)
    it(`${configured} with ${advertised} in the card is ${used}`, () =>
      assert.equal(withAdvertisedPath(configured, advertised), used));
});
