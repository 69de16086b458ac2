import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT, until } from '../fleet.ts';

const BINARY = process.env.LLAMA_SERVER_BIN || join(ROOT, '.cache/llama-server/llama-server');

const MAX_LOG_CHARS = 1_000_000;

/** Why no llama-server can be started, or false. */
export const noLlamaServer =
  !existsSync(BINARY) && `there is no ${BINARY}: deploy/llama-server.sh installs it on Debian`;

export interface LlamaServer {
  readonly url: string;
  /** Its own counts of what all calls took. */
  counts(): Promise<{ fresh: number; cached: number; output: number }>;
  /** The end of its output so far. */
  log(): string;
}

/** Starts llama.cpp's own server on loopback with this model, in a window of so many tokens; it ends with the test. */
export async function startLlamaServer(
  t: TestContext,
  gguf: Buffer,
  windowTokens: number,
): Promise<LlamaServer> {
  let end = async (): Promise<void> => {};
  const model = join(tempDir(t, { closeFirst: () => end() }), 'model.gguf');
  writeFileSync(model, gguf);
  const size = ['-c', String(windowTokens), '-np', '1', '-t', '2'];
  const flags = ['--host', '127.0.0.1', '--port', '0', '--jinja', '--temp', '0', '--no-ui', '--metrics'];
  const server = spawn(BINARY, ['-m', model, ...size, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let failure: Error | undefined;
  server.on('error', (error) => {
    failure = error;
  });
  const gone = new Promise((resolve) => server.on('close', resolve));
  end = async () => {
    server.kill('SIGKILL');
    await gone;
  };
  let log = '';
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (chunk) => {
      log = `${log}${chunk}`.slice(-MAX_LOG_CHARS);
    });
  let url = '';
  await until(async () => {
    if (failure !== undefined) throw failure;
    if (server.exitCode !== null) throw new Error(`llama-server ended with ${server.exitCode}:\n${log}`);
    url = /listening on (http:\S+)/.exec(log)?.[1] ?? '';
    return url !== '' && (await fetch(`${url}/health`)).ok;
  }, 'llama-server to be healthy');
  const props = await (await fetch(`${url}/props`)).text();
  t.diagnostic(`llama-server ${/"build_info":"([^"]*)"/.exec(props)?.[1]}`);
  return {
    url,
    log: () => log,
    async counts() {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const count = (name: string): number =>
        Number(new RegExp(`^llamacpp:${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
      return {
        fresh: count('prompt_tokens_total'),
        cached: count('prompt_tokens_cached_total'),
        output: count('tokens_predicted_total'),
      };
    },
  };
}
