/** Runs a script of this folder, and prints an error as one message: it is for who started the script, not for who wrote it. */
export async function runScript(work: () => void | Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
