import { playTopic } from './play.ts';

playTopic('thinking');
