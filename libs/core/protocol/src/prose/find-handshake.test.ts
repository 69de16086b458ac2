import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../wire/json.ts';
import { findHandshake } from './find-handshake.ts';
import { findObjects } from './find-json-objects.ts';

const result = (more: JsonObject = {}): JsonObject => ({
  type: 'TASK_RESULT',
  protocol_version: '2.0',
  task_id: 't',
  status: 'done',
  tokens_spent: 7,
  next_steps: [],
  blocked_reason: null,
  artifacts: { files_changed: [] },
  ...more,
});
const json = JSON.stringify(result());
const pretty = JSON.stringify(result(), null, 2);
const WANTED = new Set(['TASK_RESULT', 'SESSION_ANNOUNCE']);

describe('a handshake message in the text of a reply', () => {
  const TEXTS: readonly [string, string, string][] = [
    ['bare', json, ''],
    ['fenced', `Done.\n\`\`\`json\n${pretty}\n\`\`\`\n`, 'Done.'],
    ['fenced by tildes, with words behind', `A\n~~~\n${pretty}\n~~~\nB`, 'A\n\nB'],
    ['with CRLF line ends', `A\r\n\`\`\`json\r\n${pretty}\r\n\`\`\`\r\n`, 'A'],
    ['in the middle of a line', `so: ${json} and that is it`, 'so:\n\nand that is it'],
    ['beside something else in its fence', `\`\`\`\nx\n${json}\n\`\`\``, '```\nx\n\n\n\n```'],
    ['inside another object', `{"result": ${json}}`, '{"result":\n\n}'],
    ['in a list', `[1, ${json}]`, '[1,\n\n]'],
    ['behind a brace that is never closed', `use { and ${json}`, 'use { and'],
    ['behind a stray quote', `he said {"well ${json}`, 'he said {"well'],
    ['behind an unterminated value', `{"a": "b ${json}`, '{"a": "b'],
    ['behind broken JSON', `{"a": 1,} {'a': 2} {a: 3} {"a" 4} ${json}`, `{"a": 1,} {'a': 2} {a: 3} {"a" 4}`],
  ];
  for (const [what, text, prose] of TEXTS)
    it(`is found ${what}`, () => {
      const found = findHandshake(text, 't');
      assert.deepEqual(found.result, result());
      if (!what.startsWith('beside')) assert.equal(found.prose, prose);
    });

  it('is the last valid one', () => {
    const first = JSON.stringify(result({ tokens_spent: 1 }));
    const broken = JSON.stringify(result({ tokens_spent: -1 }));
    const found = findHandshake(`${first}\n${json}\n${broken}\n{"type": "TASK_RESULT"`, 't');
    assert.deepEqual(found.result, result());
  });

  it('is invalid for another task, and the problem is reported', () => {
    assert.match(findHandshake(json, 'other').problem ?? '', /task_id: must be "other"/);
    assert.deepEqual(findHandshake(json).result, result());
    assert.match(findHandshake(JSON.stringify(result({ status: 'fine' })), 't').problem ?? '', /status/);
    assert.deepEqual(findHandshake('nothing here'), { prose: 'nothing here' });
  });

  it('may be an announce, beside a result or alone', () => {
    const fixture = new URL('../../fixtures/2.0/session-announce.source.json', import.meta.url);
    const announce = JSON.parse(readFileSync(fixture, 'utf8'));
    const text = `Hello, I am neo.\n\`\`\`\n${JSON.stringify(announce, null, 1)}\n\`\`\`\nDone. ${json}`;
    assert.deepEqual(findHandshake(text, 't').announce, announce);
    assert.deepEqual(findHandshake(text, 't').result, result());
    assert.equal(findHandshake('{"type": "SESSION_ANNOUNCE"}').announce, undefined);
  });

  it('is found in any surrounding text without an open string', () => {
    const noise = fc
      .array(
        fc.constantFrom(
          'a',
          ' ',
          '\n',
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '{"a": 1}',
          '\\',
          '```',
          '1',
          '{"',
          "'",
        ),
      )
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(noise, noise, (before, behind) => {
        assert.deepEqual(findHandshake(`${before}\n${json}${behind}`, 't').result, result());
      }),
    );
  });

  it('is always valid JSON with that type', () => {
    const unit = fc.constantFrom(
      ...'{}[]",:\\ \n1.e-',
      '"type"',
      '"TASK_RESULT"',
      '{"type":"TASK_RESULT"',
      'true',
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 60 }), (parts) => {
        const text = parts.join('');
        for (const { start, end, type } of findObjects(text, WANTED))
          assert.equal(JSON.parse(text.slice(start, end)).type, type);
      }),
      { numRuns: 2_000 },
    );
  });

  const MANY = 1_000_000;
  const LARGE: readonly [string, string][] = [
    ['braces', '{'],
    ['objects that never end', '{"a":'],
    ['strings that hold braces', '{"'],
    ['escaped quotes', '{"\\"'],
    ['keys in keys', '{"{'],
    ['braces far apart', '{                    '],
    ['values that are strings', '{"a":"'],
    ['lists', '{"a":['],
    ['messages in messages', '{"type":"TASK_RESULT","a":'],
    ['invalid results', '{"type":"TASK_RESULT"}'],
    ['invalid announces', '{"type":"SESSION_ANNOUNCE","a":[{}]}\n'],
    ['spaces', '{"a" '],
    ['quotes', '"'],
    ['backslashes', '{"\\\\'],
    ['numbers', '{"a":1111111,'],
  ];
  for (const [what, unit] of LARGE)
    it(`is searched in a million characters of ${what} in linear time`, { timeout: 20_000 }, () => {
      const text = unit.repeat(MANY / unit.length);
      assert.equal(findHandshake(text, 't').result, undefined);
      assert.deepEqual(findHandshake(`${text}\n${json}`, 't').result, result());
    });
});
