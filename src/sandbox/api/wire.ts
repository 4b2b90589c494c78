/** Rows as the service writes them: documented fields by the documentation's names, the others in several vocabularies. */

import type { Activity, Conversation, Message, Note, PhoneCall, Visitor } from '../model.ts'
import { type Dice, pick, purposes, unit } from '../past/dice.ts'
import type { Switches } from '../switches.ts'
import { type Json, rfc3339OrNull, stamp } from './json.ts'

export type Wire = {
  readonly conversation: (row: Conversation) => Json
  readonly message: (conversationId: string, row: Message) => { readonly [field: string]: Json }
  readonly visitor: (row: Visitor) => Json
  readonly activity: (row: Activity) => Json
  readonly call: (row: PhoneCall) => Json
  readonly recording: (row: PhoneCall) => Json
  readonly note: (row: Note) => Json
}

export function wireOf(projectId: string, dice: Dice, s: Switches): Wire {
  return {
    conversation: (row) => ({
      id: row.id,
      projectId,
      visitorId: row.visitorId,
      status: 'open',
      createdAt: stamp(row.createdAt),
      lastMessageAt: stamp(row.lastMessageAt),
      lastMessageSenderType: row.lastMessageSenderType,
      handledAt: rfc3339OrNull(row.handledAt),
      waitingSince: rfc3339OrNull(row.waitingSince),
      assignedAgentId: row.assignedAgentId,
      origin: row.origin,
      ...(s['conversations.updatedAt'] ? { updatedAt: stamp(row.updatedAt) } : {}),
      ...drift(s, 'priority', row.index % 3 === 0 ? 'high' : 'normal', row.index % 3),
    }),
    message: (conversationId, row) => ({
      // 2^53 and more: a reader that makes a float of it folds neighbours into one.
      id: s['ids.big'] ? 9_007_199_254_740_993n + BigInt(row.id) : row.id,
      conversationId,
      senderType: row.senderType,
      kind: row.kind,
      content: row.content,
      senderDisplayName: row.senderDisplayName,
      createdAt: stamp(row.createdAt),
      ...drift(s, 'language', 'en', { code: 'en', sure: 0.97 }),
    }),
    visitor: (row) => visitorForms[s['visitors.fields']](row, projectId, dice, s),
    activity: (row) => activityForms[s['activity.fields']](row),
    call: (row) => callForms[s['calls.fields']](row, projectId, dice),
    recording: recording,
    note: (row) => ({
      id: row.id,
      visitorId: row.visitorId,
      [s['note.field']]: row.content,
      createdAt: stamp(row.createdAt),
    }),
  }
}

const countries = ['DE', 'FR', 'JP', 'BR', 'US', null]
const plans = ['free', 'team', 'enterprise']

type VisitorForm = (row: Visitor, projectId: string, dice: Dice, s: Switches) => Json
const visitorForms: Record<Switches['visitors.fields'], VisitorForm> = {
  plain(row, projectId, dice, s) {
    const thrown = dice(purposes.place, row.index)
    return {
      id: row.id,
      projectId,
      name: row.name,
      email: row.email,
      createdAt: stamp(row.createdAt),
      lastSeenAt: stamp(row.lastSeenAt),
      ...(s['visitors.updatedAt'] ? { updatedAt: stamp(row.updatedAt) } : {}),
      phone: null,
      ...(s['fields.drift'] < 2 ? { company: thrown % 3 === 0 ? null : `Company ${thrown % 500}` } : {}),
      country: pick(countries, thrown),
      pageViews: thrown % 4000,
      score: Math.round(unit(thrown) * 10_000) / 100,
      isBlocked: thrown % 50 === 0,
      tags: thrown % 2 === 0 ? [] : ['vip', `segment-${thrown % 7}`],
      customFields: {
        plan: pick(plans, thrown),
        seats: thrown % 90,
        trial: thrown % 5 === 0,
        renewsAt: stamp(row.createdAt),
      },
      ...drift(s, 'loyalty', thrown % 100, 'gold'),
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
        firstSeenAt: stamp(row.createdAt),
        lastSeenAt: stamp(row.lastSeenAt),
        ...(s['visitors.updatedAt'] ? { changedAt: stamp(row.updatedAt) } : {}),
      },
      location: {
        country: pick(countries, thrown),
        geo: { lat: unit(thrown) * 180 - 90, lng: unit(thrown) * 360 - 180 },
      },
      device: thrown % 4 === 0 ? null : { browser: 'Firefox', mobile: thrown % 3 === 0 },
      attributes: [{ key: 'plan', value: pick(plans, thrown) }],
      ...drift(s, 'loyalty', { points: thrown % 100 }, [thrown % 100]),
    }
  },
  snake(row, projectId, dice, s) {
    const thrown = dice(purposes.place, row.index)
    return {
      visitor_id: row.id,
      project_id: projectId,
      name: row.name,
      email: row.email,
      first_seen: stamp(row.createdAt),
      last_seen: stamp(row.lastSeenAt),
      ...(s['visitors.updatedAt'] ? { updated: stamp(row.updatedAt) } : {}),
      country_code: pick(countries, thrown),
      'utm.source': thrown % 6 === 0 ? 'newsletter' : null,
      ...drift(s, 'loyalty', false, 3.5),
    }
  },
}

const activityForms: Record<Switches['activity.fields'], (row: Activity) => Json> = {
  plain: ({ kind, at, dressing }) => ({
    type: kind,
    occurredAt: stamp(at),
    url: `https://shop.example/p/${dressing % 300}`,
    title: dressing % 8 === 0 ? null : `Page ${dressing % 300}`,
    durationMs: dressing % 90_000,
    metadata: { referrer: null, experiment: { id: dressing % 5, variant: dressing % 2 === 0 ? 'a' : 'b' } },
  }),
  nested: ({ kind, at, dressing }) => ({
    event: { name: kind, at: stamp(at) },
    page: { path: `/p/${dressing % 300}`, scroll: unit(dressing) },
    tags: [kind],
  }),
  snake: ({ kind, at, dressing }) => ({ event_type: kind, timestamp: stamp(at), ref: dressing % 1000, bot: false }),
}

type CallForm = (row: PhoneCall, projectId: string, dice: Dice) => Json
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
      startedAt: stamp(row.startedAt),
      endedAt: stamp(row.endedAt),
      durationSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
      cost: Math.round(unit(thrown) * 1000) / 1000,
      tags: thrown % 3 === 0 ? ['callback'] : [],
      agent: thrown % 5 === 0 ? null : { id: `agt_${thrown % 12}`, name: 'Robin' },
    }
  },
  nested: (row, projectId, dice) => ({
    id: row.id,
    project: { id: projectId },
    timing: {
      createdAt: stamp(row.startedAt),
      endedAt: stamp(row.endedAt),
      talkSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
    },
    participants: [{ role: 'visitor', id: row.visitorId }],
    outcome: { code: row.outcome, retried: dice(purposes.extra, row.index) % 2 === 0 },
  }),
  snake: (row, _projectId, dice) => ({
    call_id: row.id,
    visitor_id: row.visitorId,
    created_at: stamp(row.startedAt),
    ended_at: stamp(row.endedAt),
    result: row.outcome,
    rating: dice(purposes.extra, row.index) % 6,
  }),
}

function recording(row: PhoneCall): Json {
  if (row.recordedAt === null) return { callId: row.id, hasRecording: false }
  return {
    callId: row.id,
    hasRecording: true,
    readyAt: stamp(row.recordedAt),
    durationSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
    format: 'ogg',
    sizeBytes: (row.endedAt - row.startedAt) * 4,
    channels: ['agent', 'visitor'],
    storage: { region: 'eu-central', encrypted: true, expiresAt: null },
  }
}

/** A field that the service adds one day, and gives another type on another. */
function drift(s: Switches, name: string, first: Json, then: Json): Record<string, Json> {
  if (s['fields.drift'] < 1) return {}
  return { [name]: s['fields.drift'] < 2 ? first : then }
}
