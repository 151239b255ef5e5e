"""Faults that clients are: too many, too large, gone too early, too slow."""

import random
import threading
import time

from rayspan.adapters.http import break_off, read_slowly
from rayspan.drill.crowd import Got, body_of
from rayspan.drill.scene import Scene
from rayspan.verify.probes import Probe

_CLIENTS = 200
_WITHIN_S = 10.0
_STAY_S = 3.0
_ANSWER = 64
_SLOW_ANSWER = 192
_PAUSE_S = 0.5
_TURNS = 4
_OVER = 2.0


def disconnect(scene: Scene) -> None:
    """Two hundred clients hang up at random times, before their answer or within it."""
    chance = random.Random(scene.seed)  # noqa: S311  (times, not secrets)
    url, model = f"{scene.deployment.api_base}/v1/completions", scene.target.spec.model.id
    ended: list[bool] = []

    def client(number: int) -> None:
        body = body_of(model, probes[number], _ANSWER, stream=True)
        ended.append(break_off(url, body, stays[number]))

    probes = scene.prompts(_CLIENTS)
    stays = [chance.uniform(0, _STAY_S) for _ in probes]
    threads = [threading.Thread(target=client, args=(n,), daemon=True) for n in range(_CLIENTS)]
    scene.fault()
    for thread in threads:
        thread.start()
        time.sleep(_WITHIN_S / _CLIENTS)
    scene.crowd.send(scene.prompts())
    for thread in threads:
        thread.join()
    scene.expect("clients that hung up before the end", ended.count(False), _CLIENTS / 2)


def fill_kv_cache(scene: Scene) -> None:
    """Long prompts at once, of twice the tokens that the KV caches of the pool hold."""
    pool = scene.target.spec.pools()[scene.computing]
    room = scene.cache_tokens(scene.computing) * pool.replicas
    number = int(room * _OVER / scene.longest()) + 1
    scene.fault()
    scene.crowd.send(scene.prompts(number, scene.longest()))
    scene.expect("tokens asked for at once", number * scene.longest(), room)
    scene.crowd.gather()


def slow_client(scene: Scene) -> None:
    """One reads its stream a little at a time; the others must not notice."""
    (prompt,) = scene.prompts(1)
    enough = threading.Event()
    slow = threading.Thread(target=_read_slowly, args=(scene, prompt, enough), daemon=True)
    scene.fault()
    slow.start()
    for _ in range(_TURNS):
        scene.crowd.send(scene.prompts())
        scene.crowd.gather()
    scene.expect("slow clients still reading", int(slow.is_alive()), 1)
    enough.set()
    slow.join()


def _read_slowly(scene: Scene, prompt: Probe, enough: threading.Event) -> None:
    url, model = f"{scene.deployment.api_base}/v1/completions", scene.target.spec.model.id
    tokens = min(_SLOW_ANSWER, (scene.target.context or 1024) // 4)
    body = body_of(model, prompt, tokens, stream=True) | {"logprobs": 5}
    began = time.monotonic()
    status, text = read_slowly(url, body, _PAUSE_S, enough, scene.crowd.patience_s)
    scene.crowd.note(Got(prompt, tokens, status, text, time.monotonic() - began))
