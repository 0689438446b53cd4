"""Engine ``transformers``: a checkpoint of Hugging Face's library in this process, on a GPU or a CPU."""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from grounding_rewards.converting.prompts import IMAGE, messages_with_images
from grounding_rewards.coords.resizing import Size, resizing_by
from grounding_rewards.engines.prompts import spelled_out
from grounding_rewards.engines.protocol import Answer, Reply, Request, Running, Text, check_options
from grounding_rewards.errors import ConvertError, EngineError, in_one_line
from grounding_rewards.verifiers.options import Count


@dataclass(frozen=True)
class Transformers:
    """Engine that generates with a checkpoint of transformers: a vision model, or a text model.

    A token is drawn as argmax p / e: p is the softmax of the logits over the temperature, cut to ``top_p``, and e are
    exponential variates of a generator that each response has for itself, from its seed. So a response depends on its
    seed, not on its batch, as far as rounding lets it: in bfloat16 the logits themselves change a little with the
    batch. CPUs and GPUs draw different numbers. Greedy responses to one prompt are generated once.

    Special tokens are left out of the texts, and ``token_length`` counts the one that ends a response. Out of memory,
    the batch is halved for the rest of the run, with a warning; a response that does not fit alone has a problem.
    docs/rollouts.md has the options.

    Raises:
        EngineError: a setting does not fit.

    >>> Transformers("Qwen/Qwen3-VL-4B-Instruct", dtype="half")
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: Transformers(dtype=): got 'half'; expected one of auto, float32, bfloat16, \
float16
    """

    model: Text
    device: Text = field(default="auto", compare=False)
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch: Count = field(default=8, compare=False)
    control_tokens: bool = False

    @property
    def gpus(self) -> int:
        """The number of GPUs that a worker of a cluster gets for it, where there are any."""
        return int(self.device != "cpu")

    def __post_init__(self) -> None:
        check_options(self)

    @contextmanager
    def start(self) -> Iterator[Running]:
        """Load the checkpoint; leaving the context frees it."""
        running = _Loaded(self)
        try:
            yield running
        finally:
            del running.model, running.processor, running.tokenizer
            emptied()


class _Loaded:
    """Checkpoint in memory: its model, its processor, and the tokenizer, which is the processor's or itself."""

    at_once = 1
    continues = True
    control_tokens = True  # none gets as far as a model, or the user wants them to

    def __init__(self, settings: Transformers) -> None:
        """Load it onto a device; its generation_config is emptied, for it would fill in what a call leaves open."""
        name, place = settings.model, _device(settings.device)
        self.name, self.batch, self.device = name, settings.batch, place
        transformers = package("transformers")
        package("jinja2")
        with _quiet(transformers.utils.logging):
            config = _read(name, transformers.AutoConfig)
            self.sees = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
            self.processor = _processor(transformers, name, self.sees)
            model = _weights(transformers, name, settings.dtype, config, self.sees)
        self.tokenizer = tokenizer = getattr(self.processor, "tokenizer", self.processor)
        ends = [model.generation_config.eos_token_id, tokenizer.eos_token_id]  # numbers, lists of them, or None
        each = [[one] if isinstance(one, int) else one or [] for one in ends]
        self.ends = tuple(dict.fromkeys(token for tokens in each for token in tokens))
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        tokenizer.padding_side = "left"
        model.generation_config = transformers.GenerationConfig()
        try:
            self.model = model.to(place).eval()
        except RuntimeError as error:
            why = in_one_line(error)
            raise EngineError(f"model: {name} does not fit onto the device {place}: {why}") from error
        self.context = getattr(config.get_text_config(), "max_position_embeddings", None) or float("inf")
        self.tokens = () if settings.control_tokens else _control_tokens(tokenizer)
        images = getattr(self.processor, "image_processor", None)
        self.patch = getattr(images, "patch_size", None)  # the side of the image's patches in pixels, where it says
        self.resizing = None if images is None else resizing_by(images.to_dict())

    def __call__(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests: those with as many responses, and the same settings, go into batches."""
        pieces = [(index, piece) for index, request in enumerate(requests) for piece in self._pieces(request)]
        answered: dict[int, Reply] = {}
        for numbers in self._batches([piece for _, piece in pieces]):
            answered |= zip(numbers, self._answered([pieces[number][1] for number in numbers]), strict=True)
        replies = [Reply(())] * len(requests)
        for number, (index, _) in enumerate(pieces):
            replies[index] = replace(answered[number], answers=replies[index].answers + answered[number].answers)
        return replies

    def _pieces(self, request: Request) -> list[Request]:
        """Cut a request into those whose responses fit into a batch."""
        step = self.batch if request.sampling.temperature > 0 else max(1, len(request.seeds))
        firsts = range(0, len(request.seeds), step)
        return [replace(request, seeds=request.seeds[first : first + step]) for first in firsts]

    def _batches(self, pieces: Sequence[Request]) -> Iterator[list[int]]:
        """Yield the numbers of pieces that are answered together: the library repeats each prompt equally often."""
        alike: dict[Any, list[int]] = {}
        for number, piece in enumerate(pieces):
            alike.setdefault((piece.sampling, piece.prefill, bool(piece.images), _rows(piece)), []).append(number)
        for (*_, rows), numbers in alike.items():
            step = max(1, self.batch // rows)
            yield from (numbers[first : first + step] for first in range(0, len(numbers), step))

    def _answered(self, requests: list[Request]) -> list[Reply]:
        """Answer a batch; where that fails, answer half of it, or its requests one by one."""
        rows = sum(map(_rows, requests))
        if rows > self.batch:  # halved since the batches were made
            return self(requests)
        try:
            return self._generated(requests)
        except EngineError:
            raise
        except Exception as error:
            problem, memory = _problem(self.name, error), out_of_memory(error)
        if memory and rows > 1:  # out of the except block, which keeps tensors alive
            emptied()
            self.batch = rows // 2
            text = f"{self.name}: out of memory with {rows} responses at once; going on with batch={self.batch}"
            warnings.warn(text, stacklevel=2)
            return self(requests)
        if len(requests) > 1:
            return [self([request])[0] for request in requests]
        return [Reply((Answer(None, problem=problem),) * len(requests[0].seeds))]

    def _generated(self, requests: Sequence[Request]) -> list[Reply]:
        """Generate the responses to requests that have as many seeds and the same settings."""
        inputs = self._inputs(requests)
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        limits = [int(min(requests[0].sampling.max_tokens, self.context - length)) for length in lengths]
        if len(set(limits)) > 1:  # one response near the end of the context would cut the others
            return [self([request])[0] for request in requests]
        if limits[0] < 1:
            raise _Refused(f"the prompt has {lengths[0]} tokens; the model's context holds {self.context}")
        texts = self._tokens(requests, inputs, limits[0])
        sizes = self._sizes(requests, inputs)
        rows, replies = _rows(requests[0]), []
        for number, request in enumerate(requests):
            own = [self._answer(each, request.sampling.stop) for each in texts[number * rows : (number + 1) * rows]]
            answers = tuple(own if rows == len(request.seeds) else own * len(request.seeds))
            replies.append(Reply(answers, lengths[number], sizes[number]))
        return replies

    def _inputs(self, requests: Sequence[Request]) -> Any:
        """Return the tensors of prompts and images, one row a request."""
        for request in requests:
            self._check(request)
        talks = [self._talk(request) for request in requests]
        begun = bool(requests[0].prefill)
        texts = self.processor.apply_chat_template(
            talks, tokenize=False, add_generation_prompt=not begun, continue_final_message=begun
        )
        options: dict[str, Any] = {"padding": True, "return_tensors": "pt", "add_special_tokens": False}
        if self.sees:
            start = self.tokenizer.bos_token  # processors add it, but not to a template that has it
            options["add_special_tokens"] = not (start and texts[0].startswith(start))
        if requests[0].images:
            options["images"] = [[_picture(file) for file in request.images] for request in requests]
        made = self.processor(text=texts, **options)
        names = made.keys() if self.sees else ("input_ids", "attention_mask")  # some tokenizers make more
        kinds = {name: self.model.dtype if made[name].is_floating_point() else None for name in names}
        return {name: made[name].to(self.device, kind) for name, kind in kinds.items()}

    def _check(self, request: Request) -> None:
        if request.images and not self.sees:
            raise _Refused(f"has images, which {self.name}, a text model, does not see")
        own = getattr(self.processor, "image_token", None)
        if own and any(own in message.text for message in request.messages):
            raise _Refused(f"the prompt's text holds {own}, the model's own sign for an image; write {IMAGE}")

    def _talk(self, request: Request) -> list[dict[str, Any]]:
        """Return messages as chat templates read them: those of vision models take parts, the others texts."""
        talk: list[dict[str, Any]] = spelled_out(
            messages_with_images(request.messages, [{"type": "image"}] * len(request.images)), self.tokens
        )
        if request.prefill:
            talk.append({"role": "assistant", "content": request.prefill})
        for message in talk if self.sees else ():
            if isinstance(text := message["content"], str):
                message["content"] = [{"type": "text", "text": text}] if text else []
        return talk

    def _tokens(self, requests: Sequence[Request], inputs: Any, limit: int) -> list[list[int]]:
        """Return the tokens of each response, padded on the right."""
        sampling, options = requests[0].sampling, dict[str, Any]()
        settings: dict[str, Any] = {"do_sample": False}
        if sampling.temperature > 0:
            settings = {"do_sample": True, "top_k": 0, "num_return_sequences": len(requests[0].seeds)}
            seeds = [seed for request in requests for seed in request.seeds]
            options["logits_processor"] = [_Draw(seeds, sampling.temperature, sampling.top_p, self.device)]
        settings |= {"max_new_tokens": limit, "eos_token_id": list(self.ends) or None}
        settings |= {"pad_token_id": self.tokenizer.pad_token_id}
        if sampling.stop:
            options["stopping_criteria"] = [partial(self._stopped, sampling.stop, inputs["input_ids"].shape[1])]
        with package("torch").inference_mode():
            made = self.model.generate(
                **inputs, generation_config=package("transformers").GenerationConfig(**settings), **options
            )
        rows: list[list[int]] = made[:, inputs["input_ids"].shape[1] :].tolist()
        return rows

    def _stopped(self, stop: Sequence[str], start: int, tokens: Any, logits: Any, **_: Any) -> Any:
        """Return (n,) True for the responses that hold a text before which they end."""
        ends = [self._end(row[start:], stop) is not None for row in tokens.tolist()]
        return package("torch").tensor(ends, device=tokens.device)

    def _end(self, tokens: list[int], stop: Sequence[str]) -> int | None:
        """Return the number of tokens after which the first of these texts stands; None for none."""
        if not any(text in self.tokenizer.decode(tokens) for text in stop):
            return None
        lengths = range(1, len(tokens) + 1)
        return next(end for end in lengths if any(text in self.tokenizer.decode(tokens[:end]) for text in stop))

    def _answer(self, tokens: list[int], stop: Sequence[str]) -> Answer:
        ended = [place + 1 for place, token in enumerate(tokens) if token in self.ends][:1]  # after it comes padding
        ended += [] if (end := self._end(tokens, stop)) is None else [end]
        own = tokens[: min(ended, default=None)]
        text = self.tokenizer.decode(own, skip_special_tokens=True)
        for each in stop:  # those that are no special tokens
            text = text.partition(each)[0]
        return Answer(text, len(own), cut=not ended)

    def _sizes(self, requests: Sequence[Request], inputs: Any) -> list[Size | None]:
        """Return the size of each request's last image, from its grid of patches; all of them have images, or none."""
        images = sum(len(request.images) for request in requests)
        grids, patch = inputs.get("image_grid_thw"), self.patch
        if grids is None or len(grids) != images or type(patch) is not int:
            return [None] * len(requests)
        rows, ends = grids.tolist(), accumulate(len(request.images) for request in requests)
        return [(rows[end - 1][2] * patch, rows[end - 1][1] * patch) for end in ends]


class _Draw:
    """Choose the next token of each response with its own generator, and leave no other one to the library."""

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float, device: Any) -> None:
        numpy, torch = package("numpy"), package("torch")
        # A CPU's generator takes 32 bits of a seed, so all of its bits are mixed first.
        states = [int(numpy.random.SeedSequence(seed % 2**64).generate_state(1, "uint64")[0]) for seed in seeds]
        self.generators = [torch.Generator(device).manual_seed(state) for state in states]
        self.temperature, self.top_p = temperature, top_p

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Return logits of 0 for the chosen tokens and -inf for the others."""
        shares = ((logits - logits.amax(dim=-1, keepdim=True)) / self.temperature).softmax(dim=-1)
        if self.top_p < 1:
            ordered, order = shares.sort(dim=-1, descending=True, stable=True)
            ordered[ordered.cumsum(dim=-1) - ordered >= self.top_p] = 0
            shares = shares.scatter(-1, order, ordered)
        variates = shares.new_empty(shares.shape)
        for row, generator in zip(variates, self.generators, strict=True):
            row.exponential_(generator=generator)
        chosen = (shares / variates).argmax(dim=-1, keepdim=True)
        return logits.new_full(logits.shape, float("-inf")).scatter(-1, chosen, 0.0)


class _Refused(Exception):
    """A request cannot be answered; the message says why."""


def _rows(request: Request) -> int:
    """Return the number of responses that are generated for a request."""
    return len(request.seeds) if request.sampling.temperature > 0 else 1


def _picture(file: bytes) -> Any:
    try:
        return package("PIL.Image").open(BytesIO(file)).convert("RGB")
    except OSError as error:
        raise _Refused(f"an image cannot be read: {in_one_line(error)}") from None


def _problem(name: str, error: Exception) -> str:
    """Return why a request has no answer; a device that is lost answers none."""
    if out_of_memory(error):
        return f"out of memory with one response: {in_one_line(error)}"
    if "CUDA error" in str(error) or type(error).__name__ == "AcceleratorError":
        raise EngineError(f"{name}: the device answers no more: {in_one_line(error)}") from error
    if isinstance(error, _Refused | ConvertError):
        return str(error)
    return f"transformers raised {in_one_line(error, named=True)}"


def _control_tokens(tokenizer: Any) -> tuple[str, ...]:
    """Return the texts that the tokenizer takes for tokens of its own, such as the end of a message."""
    added = (str(each.content) for each in tokenizer.added_tokens_decoder.values() if each.special)
    return tuple(token for token in dict.fromkeys([*tokenizer.all_special_tokens, *added]) if len(token) > 1)


def package(name: str) -> Any:
    """Import a package that only engines of this kind need."""
    try:
        return import_module(name)
    except ImportError as error:
        way = "pip install 'grounding-rewards[transformers]'"
        if name == "torch":
            way = "pip install torch, the build for your device, before anything else"
        raise EngineError(f"the engine transformers needs {name}: {way} ({in_one_line(error)})") from error


def _device(name: str) -> Any:
    torch = package("torch")
    if name == "auto":
        accelerated = torch.accelerator.is_available()
        return torch.accelerator.current_accelerator() if accelerated else torch.device("cpu")
    try:
        torch.empty(1, device=name)
        return torch.device(name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise EngineError(f"device: got {name!r}, which cannot be used here: {in_one_line(error)}") from error


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Keep the library from printing bars and remarks while it loads."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _read(model: str, kind: Any, **options: Any) -> Any:
    """Load a part of a checkpoint; an error names the checkpoint in one line."""
    folder = Path(model)
    if not folder.is_dir() and (folder.is_absolute() or model[0] in ".~"):
        raise EngineError(f"model: there is no folder {model}; give a checkpoint's, or a name on the Hugging Face hub")
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise EngineError(f"model: the folder {model} has no config.json; expected what save_pretrained writes")
    try:
        return kind.from_pretrained(model, **options)
    except Exception as error:  # of its many packages, and of readers of files
        if out_of_memory(error):
            raise EngineError(f"model: {model} does not fit into memory: {in_one_line(error)}") from error
        raise EngineError(f"model: {model} cannot be loaded by {kind.__name__}: {in_one_line(error)}") from error


def _weights(transformers: Any, name: str, dtype: str, config: Any, sees: bool) -> Any:
    """Return the model; one without all of its weights would answer at random."""
    if config.is_encoder_decoder or not (sees or type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING):
        raise EngineError(
            f"model: {name} is a {config.model_type}; expected a decoder that AutoModelForImageTextToText "
            "or AutoModelForCausalLM loads"
        )
    kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
    model, report = _read(name, kind, dtype=dtype, output_loading_info=True)
    if missing := sorted(report["missing_keys"]):
        was = ", ".join(config.architectures or ["another model"])
        raise EngineError(
            f"model: {name} lacks {len(missing)} weights of {type(model).__name__}, such as {missing[0]}; "
            f"it was saved as {was}"
        )
    return model


def _processor(transformers: Any, model: str, sees: bool) -> Any:
    processor = _read(model, transformers.AutoProcessor if sees else transformers.AutoTokenizer)
    if sees and not hasattr(processor, "image_processor"):
        raise EngineError(f"model: {model} has no image processor; {_way(transformers, model)}")
    if sees:
        package("PIL")
    if not processor.chat_template:
        raise EngineError(
            f"model: {model} has no chat template; copy chat_template.jinja of the model that it was trained from "
            "into its folder"
        )
    return processor


def _way(transformers: Any, model: str) -> str:
    """Return what to do where no processor of images is found."""
    with suppress(OSError, ValueError, AttributeError):
        for name in ("processor_config.json", "preprocessor_config.json"):
            file = transformers.utils.cached_file(model, name, _raise_exceptions_for_missing_entries=False)
            kind = file and json.loads(Path(file).read_text()).get("processor_class")
            if kind and not hasattr(transformers, kind):
                return f"its processor class {kind} is not known; register it (docs/rollouts.md)"
    return "copy preprocessor_config.json of its base model"


def emptied() -> None:
    """Give memory that is no longer used back to the device."""
    gc.collect()
    package("torch").cuda.empty_cache()


def out_of_memory(error: Exception) -> bool:
    """Return True for an error of torch, of numpy or of Python that says so."""
    text = str(error).lower()
    short = any(sign in text for sign in ("out of memory", "not enough memory", "can't allocate memory"))
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and short)
