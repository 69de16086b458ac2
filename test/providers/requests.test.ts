import { playTopic } from './play.ts';

playTopic('requests');
