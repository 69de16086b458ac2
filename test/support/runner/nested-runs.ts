import type { TestContext } from 'node:test';

/** Lets a test run test files: Node refuses to inside a test process, which it knows by a variable. */
export function allowNestedRuns(t: TestContext): void {
  const { NODE_TEST_CONTEXT: inside } = process.env;
  delete process.env.NODE_TEST_CONTEXT;
  t.after(() => {
    process.env.NODE_TEST_CONTEXT = inside;
  });
}
