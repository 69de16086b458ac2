// Runs beside a command that has a network namespace of its own: what connects to the port on its loopback interface
// reaches the proxy of the gateway, by a socket that only this command has. Prints `ready`.
const { closeSync, openSync, writeSync } = require('node:fs');
const { connect, createServer } = require('node:net');

const [, , path, port] = process.argv;
// So that `killall node` of a command does not end its way to the network.
process.title = 'fleet-relay';

const server = createServer({ allowHalfOpen: true }, (inner) => {
  const outer = connect({ path, allowHalfOpen: true });
  inner.pipe(outer).pipe(inner);
  for (const [one, other] of [
    [inner, outer],
    [outer, inner],
  ]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
});
server.listen(Number(port), '127.0.0.1', () => {
  writeSync(1, 'ready');
  // Whoever waits for this reads to the end.
  for (const fd of [1, 2]) {
    closeSync(fd);
    openSync('/dev/null', 'w');
  }
});
