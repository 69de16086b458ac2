import { testRelayCrashes } from '@hermes-fleet/gateway/testing';

testRelayCrashes('one');
