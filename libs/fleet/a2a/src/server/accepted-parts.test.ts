import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { serve } from '../../testing/serve.ts';
import { buildAgentCard } from '../card/agent-card.ts';

const card = (inputModes: readonly string[]) => () =>
  buildAgentCard({
    identity: '---\nname: neo\ndescription: Works.\n---\n',
    url: 'http://127.0.0.1/jsonrpc',
    version: '0',
    extensions: [],
    streaming: true,
    authRequired: true,
    inputModes,
  });

const params = (...parts: JsonObject[]): JsonObject => ({
  message: { messageId: 'm', role: 'ROLE_USER', parts },
});

const TEXT: JsonObject = { text: 'look' };
const PNG: JsonObject = { raw: 'aGk=', filename: 'a.png', mediaType: 'image/png' };
const PDF: JsonObject = { url: 'https://files.example/a.pdf', mediaType: 'application/pdf' };

describe('the parts of a message', () => {
  it('may be what the card offers, by name, by range or without a media type', async (t) => {
    const served = await serve(t, { card: card(['image/*', 'application/pdf']) });
    const parts = [TEXT, PNG, PDF, { text: 'x', mediaType: 'TEXT/plain; charset=utf-8' }];
    const { body } = await served.rpc('SendMessage', params(...parts));
    assert.equal(body.error, undefined, JSON.stringify(body));
    assert.deepEqual(served.intake.inbound[0]?.raw.parts, parts);
    const any = await serve(t, { card: card(['*/*']) });
    assert.equal((await any.rpc('SendMessage', params(TEXT, { raw: '' }))).body.error, undefined);
  });

  const refused: readonly (readonly [what: string, part: JsonObject, code: number, words: RegExp])[] = [
    [
      'a file of another type',
      { ...PNG, mediaType: 'audio/ogg' },
      -32005,
      /parts\[1\] is a file of type "audio\/ogg"/,
    ],
    [
      'a file of no type',
      { raw: 'aGk=' },
      -32005,
      /parts\[1\] is a file of type "application\/octet-stream"/,
    ],
    [
      'a text of another type',
      { text: 'x', mediaType: 'text/x' },
      -32005,
      /parts\[1\] has the media type "text\/x"/,
    ],
    [
      'data of another type',
      { data: 1, mediaType: 'application/x+json' },
      -32005,
      /parts\[1\] has the media type/,
    ],
    ['bytes that are no base64', { ...PNG, raw: 'aGk=!' }, -32602, /parts\[1\]\.raw is not base64/],
    ['bytes of two alphabets', { ...PNG, raw: '+_+_' }, -32602, /raw is not base64/],
    ['bytes of an impossible length', { ...PNG, raw: 'aGkaa' }, -32602, /raw is not base64/],
    ['bytes with padding too many', { ...PNG, raw: 'aGkx=' }, -32602, /raw is not base64/],
    [
      'an address of another scheme',
      { ...PDF, url: 'file:///etc/passwd' },
      -32602,
      /parts\[1\]\.url is not an http/,
    ],
    [
      'an address with credentials',
      { ...PDF, url: 'https://a:hush@b.example/' },
      -32602,
      /without credentials/,
    ],
    ['an address with a user', { ...PDF, url: 'https://hush@b.example/' }, -32602, /without credentials/],
    [
      'an address with a password',
      { ...PDF, url: 'https://:hush@b.example/' },
      -32602,
      /without credentials/,
    ],
    ['no address', { ...PDF, url: 'plan.pdf' }, -32602, /parts\[1\]\.url is not an http/],
  ];
  for (const [what, part, code, words] of refused)
    it(`are refused with their index, and stored nowhere: ${what}`, async (t) => {
      const served = await serve(t, { card: card(['image/*', 'application/pdf']) });
      const { body } = await served.rpc('SendMessage', params(TEXT, part));
      assert.match(JSON.stringify(body.error), new RegExp(`"code":${code},`));
      assert.match(String((body.error as JsonObject).message), words);
      assert.doesNotMatch(JSON.stringify(body), /hush|passwd/);
      assert.equal(served.ledger.list({ pageSize: 1 }).totalSize, 0);
    });

  it('are bounded in number', async (t) => {
    const served = await serve(t, { card: card(['*/*']) });
    const many = (count: number, part: JsonObject) => params(...Array.from({ length: count }, () => part));
    for (const [asked, words] of [
      [many(10_000, TEXT), /has 10000 parts, at most 256/],
      [many(33, { raw: '' }), /has more than 32 files/],
    ] as const)
      assert.match(JSON.stringify((await served.rpc('SendMessage', asked)).body), words);
    assert.equal(
      (await served.rpc('SendMessage', params(TEXT, ...Array(32).fill(PNG)))).body.error,
      undefined,
    );
  });

  it('have the same rules in A2A 0.3, and are stored in the form of 1.0', async (t) => {
    const served = await serve(t, { card: card(['image/*', 'application/pdf']) });
    const send = (...parts: JsonObject[]) =>
      served.rpc('message/send', { message: { kind: 'message', messageId: 'm', role: 'user', parts } });
    const text = { kind: 'text', text: 'look' };
    const png = { bytes: 'aGk=', name: 'a.png', mimeType: 'image/png' };
    const pdf = { uri: 'https://files.example/a.pdf', mimeType: 'application/pdf' };
    const { body } = await send(text, { kind: 'file', file: png }, { kind: 'file', file: pdf });
    assert.equal(body.error, undefined, JSON.stringify(body));
    const stored = served.intake.inbound[0]?.raw.parts;
    assert.ok(Array.isArray(stored));
    assert.deepEqual(stored.slice(1), [
      { raw: 'aGk=', filename: 'a.png', mediaType: 'image/png' },
      { url: 'https://files.example/a.pdf', mediaType: 'application/pdf' },
    ]);
    for (const [file, words] of [
      [{ ...png, bytes: 'aGk=!' }, /parts\[1\]\.raw is not base64/],
      [{ ...png, mimeType: 'audio/ogg' }, /-32005.*parts\[1\] is a file of type/],
      [{ name: 'nothing' }, /parts\[1\]/],
    ] as const)
      assert.match(JSON.stringify((await send(text, { kind: 'file', file })).body.error), words);
  });
});
