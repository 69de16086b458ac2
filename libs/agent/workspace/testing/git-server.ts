import { spawn, spawnSync } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A forge on this machine: the repositories below a folder, over HTTP (https://git-scm.com/docs/git-http-backend). */
export interface GitServer extends AsyncDisposable {
  /** The URL of a repository below the folder. */
  url(path: string): string;
  /** The requests so far: method, path and, if there was one, the `Authorization` header. */
  readonly requests: readonly { readonly line: string; readonly authorization: string | undefined }[];
  /** Stops answering: connections are refused from then on, until `resume`. */
  stop(): Promise<void>;
  resume(): Promise<void>;
  /** Holds the answers to requests from then on, until the returned function is called. */
  hold(): () => void;
}

/**
 * Serves the repositories below `root` on a port of 127.0.0.1. With a `token`, only requests with it as the password of Basic
 * authentication get an answer; others get 401.
 */
export async function startGitServer(root: string, options: { token?: string } = {}): Promise<GitServer> {
  const requests: { line: string; authorization: string | undefined }[] = [];
  const backend = `${spawnSync('git', ['--exec-path'], { encoding: 'utf8' }).stdout.trim()}/git-http-backend`;

  let held: Promise<void> | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers;
    requests.push({ line: `${request.method} ${request.url}`, authorization });
    await held;
    const password = Buffer.from(authorization?.replace(/^Basic /, '') ?? '', 'base64').toString();
    if (options.token !== undefined && !password.endsWith(`:${options.token}`)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? '/', 'http://git');
    const { 'content-type': type = '', 'content-encoding': encoding = '' } = request.headers;
    const child = spawn(backend, [], {
      env: {
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: decodeURI(pathname),
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: type,
        HTTP_CONTENT_ENCODING: encoding,
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_ADDR: '127.0.0.1',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.on('error', () => {});
    request.pipe(child.stdin);
    let head = Buffer.alloc(0);
    child.stdout.on('data', (chunk: Buffer) => {
      if (response.headersSent) {
        response.write(chunk);
        return;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const fields = head.subarray(0, end).toString().split('\r\n');
      const headers = Object.fromEntries(fields.map((line) => line.split(/: (.*)/s).slice(0, 2)));
      const { Status: status = '200', ...others } = headers;
      response.writeHead(Number.parseInt(status, 10), others);
      response.write(head.subarray(end + 4));
    });
    child.on('close', () => response.end());
  }

  const server = createServer(answer);
  const listen = (at: number): Promise<void> =>
    new Promise((resolve) => server.listen(at, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: (path) => `http://127.0.0.1:${port}/${path}`,
    requests,
    stop,
    resume: () => listen(port),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    [Symbol.asyncDispose]: stop,
  };
}
