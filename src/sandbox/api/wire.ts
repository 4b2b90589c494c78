/** Rows as the service writes them: documented fields by the documentation's names, the others in several vocabularies. */

import type { Activity, Conversation, Message, Note, PhoneCall, Visitor } from '../model.ts'
import { type Random, pick, purposes, toUnitInterval } from '../seed/random.ts'
import type { Switches } from '../switches.ts'
import { type Json, toTimestampOrNull, toTimestamp } from './json.ts'

export type WireFormat = {
  readonly conversation: (row: Conversation) => Json
  readonly message: (conversationId: string, row: Message) => { readonly [field: string]: Json }
  readonly visitor: (row: Visitor) => Json
  readonly activity: (row: Activity) => Json
  readonly call: (row: PhoneCall) => Json
  readonly recording: (row: PhoneCall) => Json
  readonly note: (row: Note) => Json
}

export function createWireFormat(projectId: string, random: Random, s: Switches): WireFormat {
  return {
    conversation: (row) => ({
      id: row.id,
      projectId,
      visitorId: row.visitorId,
      status: 'open',
      createdAt: toTimestamp(row.createdAt),
      lastMessageAt: toTimestamp(row.lastMessageAt),
      lastMessageSenderType: row.lastMessageSenderType,
      handledAt: toTimestampOrNull(row.handledAt),
      waitingSince: toTimestampOrNull(row.waitingSince),
      assignedAgentId: row.assignedAgentId,
      origin: row.origin,
      ...(s['conversations.updatedAt'] ? { updatedAt: toTimestamp(row.updatedAt) } : {}),
      ...driftingField(s, 'priority', row.index % 3 === 0 ? 'high' : 'normal', row.index % 3),
    }),
    message: (conversationId, row) => ({
      // 2^53 and more: a reader that makes a float of it folds neighbours into one.
      id: s['ids.big'] ? 9_007_199_254_740_993n + BigInt(row.id) : row.id,
      conversationId,
      senderType: row.senderType,
      kind: row.kind,
      content: row.content,
      senderDisplayName: row.senderDisplayName,
      createdAt: toTimestamp(row.createdAt),
      ...driftingField(s, 'language', 'en', { code: 'en', sure: 0.97 }),
    }),
    visitor: (row) => visitorForms[s['visitors.fields']](row, projectId, random, s),
    activity: (row) => activityForms[s['activity.fields']](row),
    call: (row) => callForms[s['calls.fields']](row, projectId, random),
    recording: recordingRow,
    note: (row) => ({
      id: row.id,
      visitorId: row.visitorId,
      [s['note.field']]: row.content,
      createdAt: toTimestamp(row.createdAt),
    }),
  }
}

const countries = ['DE', 'FR', 'JP', 'BR', 'US', null]
const plans = ['free', 'team', 'enterprise']

type VisitorForm = (row: Visitor, projectId: string, dice: Random, s: Switches) => Json
const visitorForms: Record<Switches['visitors.fields'], VisitorForm> = {
  plain(row, projectId, dice, s) {
    const thrown = dice(purposes.place, row.index)
    return {
      id: row.id,
      projectId,
      name: row.name,
      email: row.email,
      createdAt: toTimestamp(row.createdAt),
      lastSeenAt: toTimestamp(row.lastSeenAt),
      ...(s['visitors.updatedAt'] ? { updatedAt: toTimestamp(row.updatedAt) } : {}),
      phone: null,
      ...(s['fields.drift'] < 2 ? { company: thrown % 3 === 0 ? null : `Company ${thrown % 500}` } : {}),
      country: pick(countries, thrown),
      pageViews: thrown % 4000,
      score: Math.round(toUnitInterval(thrown) * 10_000) / 100,
      isBlocked: thrown % 50 === 0,
      tags: thrown % 2 === 0 ? [] : ['vip', `segment-${thrown % 7}`],
      customFields: {
        plan: pick(plans, thrown),
        seats: thrown % 90,
        trial: thrown % 5 === 0,
        renewsAt: toTimestamp(row.createdAt),
      },
      ...driftingField(s, 'loyalty', thrown % 100, 'gold'),
    }
  },
  nested(row, projectId, dice, s) {
    const thrown = dice(purposes.place, row.index)
    return {
      id: row.id,
      projectId,
      name: row.name,
      email: row.email,
      timestamps: {
        firstSeenAt: toTimestamp(row.createdAt),
        lastSeenAt: toTimestamp(row.lastSeenAt),
        ...(s['visitors.updatedAt'] ? { changedAt: toTimestamp(row.updatedAt) } : {}),
      },
      location: {
        country: pick(countries, thrown),
        geo: { lat: toUnitInterval(thrown) * 180 - 90, lng: toUnitInterval(thrown) * 360 - 180 },
      },
      device: thrown % 4 === 0 ? null : { browser: 'Firefox', mobile: thrown % 3 === 0 },
      attributes: [{ key: 'plan', value: pick(plans, thrown) }],
      ...driftingField(s, 'loyalty', { points: thrown % 100 }, [thrown % 100]),
    }
  },
  snake(row, projectId, dice, s) {
    const thrown = dice(purposes.place, row.index)
    return {
      visitor_id: row.id,
      project_id: projectId,
      name: row.name,
      email: row.email,
      first_seen: toTimestamp(row.createdAt),
      last_seen: toTimestamp(row.lastSeenAt),
      ...(s['visitors.updatedAt'] ? { updated: toTimestamp(row.updatedAt) } : {}),
      country_code: pick(countries, thrown),
      'utm.source': thrown % 6 === 0 ? 'newsletter' : null,
      ...driftingField(s, 'loyalty', false, 3.5),
    }
  },
}

const activityForms: Record<Switches['activity.fields'], (row: Activity) => Json> = {
  plain: ({ kind, at, variantSeed: dressing }) => ({
    type: kind,
    occurredAt: toTimestamp(at),
    url: `https://shop.example/p/${dressing % 300}`,
    title: dressing % 8 === 0 ? null : `Page ${dressing % 300}`,
    durationMs: dressing % 90_000,
    metadata: { referrer: null, experiment: { id: dressing % 5, variant: dressing % 2 === 0 ? 'a' : 'b' } },
  }),
  nested: ({ kind, at, variantSeed: dressing }) => ({
    event: { name: kind, at: toTimestamp(at) },
    page: { path: `/p/${dressing % 300}`, scroll: toUnitInterval(dressing) },
    tags: [kind],
  }),
  snake: ({ kind, at, variantSeed: dressing }) => ({ event_type: kind, timestamp: toTimestamp(at), ref: dressing % 1000, bot: false }),
}

type CallForm = (row: PhoneCall, projectId: string, dice: Random) => Json
const callForms: Record<Switches['calls.fields'], CallForm> = {
  plain(row, projectId, dice) {
    const thrown = dice(purposes.extra, row.index)
    return {
      id: row.id,
      projectId,
      visitorId: row.visitorId,
      conversationId: null,
      direction: thrown % 2 === 0 ? 'inbound' : 'outbound',
      status: row.outcome,
      startedAt: toTimestamp(row.startedAt),
      endedAt: toTimestamp(row.endedAt),
      durationSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
      cost: Math.round(toUnitInterval(thrown) * 1000) / 1000,
      tags: thrown % 3 === 0 ? ['callback'] : [],
      agent: thrown % 5 === 0 ? null : { id: `agt_${thrown % 12}`, name: 'Robin' },
    }
  },
  nested: (row, projectId, dice) => ({
    id: row.id,
    project: { id: projectId },
    timing: {
      createdAt: toTimestamp(row.startedAt),
      endedAt: toTimestamp(row.endedAt),
      talkSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
    },
    participants: [{ role: 'visitor', id: row.visitorId }],
    outcome: { code: row.outcome, retried: dice(purposes.extra, row.index) % 2 === 0 },
  }),
  snake: (row, _projectId, dice) => ({
    call_id: row.id,
    visitor_id: row.visitorId,
    created_at: toTimestamp(row.startedAt),
    ended_at: toTimestamp(row.endedAt),
    result: row.outcome,
    rating: dice(purposes.extra, row.index) % 6,
  }),
}

function recordingRow(row: PhoneCall): Json {
  if (row.recordedAt === null) return { callId: row.id, hasRecording: false }
  return {
    callId: row.id,
    hasRecording: true,
    readyAt: toTimestamp(row.recordedAt),
    durationSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
    format: 'ogg',
    sizeBytes: (row.endedAt - row.startedAt) * 4,
    channels: ['agent', 'visitor'],
    storage: { region: 'eu-central', encrypted: true, expiresAt: null },
  }
}

/** A field that the service adds one day, and gives another type on another. */
function driftingField(s: Switches, name: string, first: Json, then: Json): Record<string, Json> {
  if (s['fields.drift'] < 1) return {}
  return { [name]: s['fields.drift'] < 2 ? first : then }
}
