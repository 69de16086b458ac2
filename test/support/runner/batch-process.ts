import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cpuSeconds } from './cpu-seconds.ts';

/** The process of a batch: each test file that its arguments name becomes a suite of that name, and reports its CPU time. */
const { CPU_REPORT_OF_FILES: report = '/dev/null' } = process.env;
delete process.env.CPU_REPORT_OF_FILES;

const cpuS = (): number => {
  const { own, children } = cpuSeconds();
  return own + children;
};

for (const file of process.argv.slice(2)) {
  const loaded = Promise.withResolvers<void>();
  suite(file, async () => {
    let start = 0;
    before(() => {
      start = cpuS();
    });
    after(() => appendFileSync(report, `${file}\t${cpuS() - start}\n`));
    try {
      await import(pathToFileURL(resolve(file)).href);
    } finally {
      loaded.resolve();
    }
  });
  // One file after the other is loaded, as they would be by themselves.
  await loaded.promise;
}
