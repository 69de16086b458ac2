import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isInternalAddress } from './address.ts';

const INTERNAL = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '100.100.100.200', '127.0.0.1'],
  ...['127.255.255.254', '168.63.129.16', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.192'],
  ...['192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1', '198.19.255.255', '198.51.100.1'],
  ...['203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  // IPv6: itself, unspecified, link-local with and without a zone, unique local, site-local, multicast, documentation.
  ...[
    '::1',
    '::',
    '[::1]',
    'fe80::1',
    'fe80::1%eth0',
    'fe80::1%25eth0',
    'fc00::1',
    'fd00:ec2::254',
    'fec0::1',
  ],
  ...['ff02::1', '2001:db8::1', '3fff::1', '100::1', '5f00::1', '4000::1'],
  // IPv4 in IPv6: mapped, compatible, NAT64, NAT64 of a network's own, 6to4, Teredo.
  ...['::ffff:127.0.0.1', '::FFFF:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:10.0.0.1', '::ffff:a9fe:a9fe'],
  ...[
    '::127.0.0.1',
    '::7f00:1',
    '::8.8.8.8',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b::10.0.0.1',
  ],
  ...['64:ff9b:1::8.8.8.8', '2002:7f00:1::1', '2002:808:808::1', '2001::1', '2001:0:7f00:1::1'],
  // Not addresses, and IPv4 notations that only some resolvers accept.
  ...['', 'localhost', 'example.com', '127.1', '2130706433', '0x7f.0.0.1', '0177.0.0.1', '1.2.3.4.', '1.2.3'],
];

const PUBLIC = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '168.63.129.15', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['192.0.1.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['2606:4700:4700::1111', '2001:4860:4860::8888', '[2a00:1450:4001:81b::200e]', '2001:200::1', '3ffe::1'],
  ...['::ffff:8.8.8.8', '::ffff:808:808', '64:ff9b::8.8.8.8', '64:ff9b::808:808'],
];

describe('isInternalAddress', () => {
  for (const address of INTERNAL)
    it(`${address || 'nothing'} is internal`, () => assert.equal(isInternalAddress(address), true));
  for (const address of PUBLIC)
    it(`${address} is public`, () => assert.equal(isInternalAddress(address), false));
});
