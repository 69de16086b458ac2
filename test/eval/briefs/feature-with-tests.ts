import { calls, edit, failing, read, type Script, says, sh } from '../script/script.ts';

const NEW_TEST = `
test('an entry expires ttlMs after it was set', () => {
  let time = 0;
  const cache = new Cache({ max: 2, ttlMs: 10, now: () => time });
  cache.set('a', 1);
  time = 9;
  assert.equal(cache.get('a'), 1);
  time = 10;
  assert.equal(cache.get('a'), undefined);
  assert.equal(cache.size, 0);
});
`;
const TESTS = 'node --test test/cache.test.mjs';

export const script: Script = {
  turns: [
    [
      calls(read('src/cache.mjs'), read('test/cache.test.mjs'), read('README.md')),
      // The test comes first, and fails.
      calls(
        edit('test/cache.test.mjs', '[1, undefined, 3]);\n});\n', `[1, undefined, 3]);\n});\n${NEW_TEST}`),
        failing(sh(TESTS)),
      ),
      calls(
        edit(
          'src/cache.mjs',
          'constructor({ max }) {\n    this.max = max;',
          'constructor({ max, ttlMs = Infinity, now = Date.now }) {\n    this.max = max;\n    this.ttlMs = ttlMs;\n    this.now = now;',
        ),
      ),
      calls(
        edit(
          'src/cache.mjs',
          'const value = this.#entries.get(key);\n    this.#entries.delete(key);\n    this.#entries.set(key, value);\n    return value;',
          'const entry = this.#entries.get(key);\n    this.#entries.delete(key);\n    if (this.now() >= entry.until) return undefined;\n    this.#entries.set(key, entry);\n    return entry.value;',
        ),
      ),
      calls(failing(sh(TESTS))),
      calls(
        edit(
          'src/cache.mjs',
          'this.#entries.set(key, value);\n    if',
          'this.#entries.set(key, { value, until: this.now() + this.ttlMs });\n    if',
        ),
        edit(
          'README.md',
          '| `max` | the most entries |\n',
          '| `max` | the most entries |\n| `ttlMs` | milliseconds after which an entry expires; default: never |\n| `now` | the clock in milliseconds; default: `Date.now` |\n',
        ),
      ),
      calls(read('README.md'), sh(TESTS)),
      says('The cache has `ttlMs` and `now`, with a test and a description.'),
    ],
  ],
};
