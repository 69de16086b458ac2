import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaRanges } from './media-types.ts';

test('a list of media types has those that it names, those of its ranges, and with a wildcard all', () => {
  const has = mediaRanges(['Text/Plain; charset=utf-8', 'image/*']);
  for (const one of ['text/plain', 'TEXT/plain;charset=x', ' image/png ']) assert.equal(has(one), true, one);
  for (const one of ['text/html', 'text/plainer', 'images/png', 'application/image', '', 'constructor'])
    assert.equal(has(one), false, one);
  assert.equal(mediaRanges(['*/*'])('video/mp4'), true);
  assert.equal(mediaRanges([])('text/plain'), false);
});
