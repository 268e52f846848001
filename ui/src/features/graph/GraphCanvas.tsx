// The drawing itself; loaded late, since it carries the two big libraries.
import { Background, BackgroundVariant, Controls, Handle, MarkerType, Position, ReactFlow, type Edge, type Node, type NodeProps } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { memo, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { RunStep } from '../../api/types';
import { toneOf } from '../../api/states';
import { Badge } from '../../components/state';
import { Span } from '../../components/time';
import { headOf } from '../../app/visible';
import { doneOf, spanOfAttempts } from '../runs/attempts';
import { NODE_HEIGHT, NODE_WIDTH, layoutSteps } from './layout';
import type { GraphStep } from './model';
import { useWord } from '../../components/words';

export interface GraphCanvasProps {
  steps: GraphStep[];
  states: Map<string, RunStep>;
  live: boolean;
  narrow: boolean;
  selected?: string | null;
  onSelect?: (step: string) => void;
}

interface StepData extends Record<string, unknown> {
  step: GraphStep;
  run: RunStep | undefined;
  live: boolean;
  narrow: boolean;
  selected: boolean;
  onSelect?: (step: string) => void;
}

const StepNode = memo(function StepNode({ data }: NodeProps<Node<StepData>>) {
  const { t } = useTranslation();
  const word = useWord();
  const { step, run, live, narrow, selected, onSelect } = data;
  const attempts = run?.attempts ?? [];
  const [began, ended] = spanOfAttempts(attempts);
  const items = run?.items;
  const state = run?.state;
  const stateText = state ? word('state', state) : t('graph.nostate');
  const after = step.after.map((edge) => edge.from).join(', ');
  const label = [
    step.name,
    stateText,
    run?.reason ?? '',
    after ? t('graph.after', { steps: after }) : t('graph.start'),
  ].filter(Boolean).join(', ');
  const body = (
    <>
      <span className="node-name">{step.name}</span>
      <span className="node-calls">{step.calls ? (step.kind === 'http' ? step.calls : `${word('kind', step.kind)} · ${step.calls}`) : word('kind', step.kind)}</span>
      <span className="node-foot">
        {state ? <Badge tone={toneOf(state)} text={stateText} quiet /> : <span className="muted">{word('kind', step.kind)}</span>}
        {began && <Span from={began} to={ended} live={live} />}
        {items && <span className="node-tries">{t('graph.items', { done: doneOf(items), count: run.item_count ?? items.length })}</span>}
        {!items && attempts.length > 1 && <span className="node-tries">{t('graph.tries', { n: attempts.length })}</span>}
      </span>
    </>
  );
  return (
    <>
      <Handle type="target" position={narrow ? Position.Top : Position.Left} isConnectable={false} />
      {onSelect ? (
        <button type="button" className={`node nodrag nopan tone-${state ? toneOf(state) : 'none'}${selected ? ' selected' : ''}`} aria-label={label} aria-pressed={selected} onClick={() => onSelect(step.name)}>
          {body}
        </button>
      ) : (
        <div className={`node tone-${state ? toneOf(state) : 'none'}`}>{body}</div>
      )}
      <Handle type="source" position={narrow ? Position.Bottom : Position.Right} isConnectable={false} />
    </>
  );
});

const MANY = 150; // steps that can only be seen from afar: states as patches first, words when one comes closer

const nodeTypes = { step: StepNode };

export default function GraphCanvas({ steps, states, live, narrow, selected, onSelect }: GraphCanvasProps) {
  const { t } = useTranslation();
  const word = useWord();
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => setWidth(box.current?.clientWidth ?? 0), []); // drawn once it is known, so only once
  // The layout depends on the shape alone: live states change colours, never places.
  const shape = steps.map((step) => `${step.name}<${step.after.map((edge) => edge.from).join('+')}`).join(';');
  const layout = useMemo(() => layoutSteps(steps, narrow ? 'TB' : 'LR'), [shape, narrow]); // eslint-disable-line react-hooks/exhaustive-deps

  const nodes: Node<StepData>[] = steps.map((step) => ({
    id: step.name,
    type: 'step',
    position: layout.places.get(step.name) ?? { x: 0, y: 0 },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    data: { step, run: states.get(step.name), live, narrow, selected: selected === step.name, onSelect },
  }));
  const known = new Set(steps.map((step) => step.name));
  const edges: Edge[] = steps.flatMap((step) =>
    step.after
      .filter((edge) => known.has(edge.from))
      .map((edge) => {
        const to = states.get(step.name)?.state;
        const walked = to !== undefined && to !== 'waiting' && to !== 'skipped';
        return {
          id: `${edge.from}→${step.name}`,
          source: edge.from,
          target: step.name,
          className: walked ? 'walked' : to === 'skipped' ? 'passed' : undefined,
          label: edge.on === 'success' ? undefined : headOf(word('edge', edge.on), 40),
          markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: walked ? 'var(--accent)' : 'var(--line-strong)' },
          focusable: false,
        };
      }),
  );
  // As tall as the drawing will be once it is scaled to the width that there is.
  const scale = width === 0 ? 1 : Math.min(1, (width - 28) / Math.max(1, layout.width));
  const height = Math.min(560, Math.max(150, layout.height * scale + 64));

  return (
    <div className={steps.length > MANY ? 'canvas many' : 'canvas'} ref={box} style={{ height }}>
      {width > 0 && <ReactFlow
        key={`${shape}|${narrow}`}
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        fitView
        fitViewOptions={{ padding: { top: '14px', right: '14px', bottom: '44px', left: '14px' }, maxZoom: 1 }}
        minZoom={0.04}
        maxZoom={1.6}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        zoomOnDoubleClick={false}
        onlyRenderVisibleElements={steps.length > MANY}
        ariaLabelConfig={{
          'controls.ariaLabel': t('graph.controls'),
          'controls.zoomIn.ariaLabel': t('graph.zoomin'),
          'controls.zoomOut.ariaLabel': t('graph.zoomout'),
          'controls.fitView.ariaLabel': t('graph.fit'),
        }}
      >
        <Background variant={BackgroundVariant.Dots} gap={18} size={1} />
        <Controls showInteractive={false} orientation="horizontal" />
      </ReactFlow>}
    </div>
  );
}
