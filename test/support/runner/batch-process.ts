import { resolve } from 'node:path';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

/** The process of a batch: each test file that its arguments name becomes a suite of that name. */
for (const file of process.argv.slice(2)) {
  const loaded = Promise.withResolvers<void>();
  suite(file, async () => {
    try {
      await import(pathToFileURL(resolve(file)).href);
    } finally {
      loaded.resolve();
    }
  });
  // One file after the other is loaded, as they would be by themselves.
  await loaded.promise;
}
